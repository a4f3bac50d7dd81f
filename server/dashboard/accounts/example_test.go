package accounts_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/people"
)

// A server on which people sign in with accounts alone.
func Example() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	mon, err := monitor.New(store, nil)
	if err != nil {
		panic(err)
	}
	known, err := people.New(mon, nil)
	if err != nil {
		panic(err)
	}
	srv, err := server.New(mon, &server.Config{
		BaseURL:   "https://rollcall.example.org",
		Dashboard: &dashboard.Config{Accounts: accounts.New(known, nil)},
	})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	link, err := known.First(ctx) // print https://rollcall.example.org/signin/ + link.Token
	if err != nil {
		panic(err)
	}

	answer := httptest.NewRecorder()
	srv.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/signin/"+link.Token, nil))
	fmt.Println(answer.Code)
	answer = httptest.NewRecorder()
	srv.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/projects", nil))
	fmt.Println(answer.Code, answer.Header().Get("Location"))
	// Output:
	// 200
	// 303 /signin?next=%2Fprojects
}
