package outbound_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func Example() {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too fast", http.StatusTooManyRequests)
	}))
	defer receiver.Close()

	post := func(client *http.Client) error {
		req, err := http.NewRequest(http.MethodPost, receiver.URL+"/token", strings.NewReader("down"))
		if err != nil {
			return outbound.Clean(err)
		}
		_, err = outbound.Do(client, req)
		return err
	}
	err := post(outbound.New(nil))
	fmt.Println(errors.Is(err, outbound.ErrPrivateAddress))

	client := outbound.New(&outbound.Config{AllowPrivateNetworks: true})
	defer client.CloseIdleConnections()
	err = post(client)
	after, _ := channels.RetryDelay(err)
	fmt.Println(err)
	fmt.Println("again after", after)
	// Output:
	// true
	// the receiver answered with status 429 Too Many Requests: too fast
	// again after 1m0s
}
