//go:build release

package prometheus

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

// patience bounds the wait for Prometheus, which scrapes each second. Only a failure reaches it.
const patience = 2 * time.Minute

// TestRealPrometheus runs Prometheus with the configuration and the rules, for a server on the loopback interface.
func TestRealPrometheus(t *testing.T) {
	name := "prometheus"
	if path := os.Getenv("ROLLCALL_TEST_PROMETHEUS"); path != "" {
		name = path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		skip := t.Skip
		if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
			skip = t.Fatal
		}
		skip("no Prometheus to test with (apt-get install prometheus, or name it in ROLLCALL_TEST_PROMETHEUS): ", err)
	}
	greeting := serve(t)
	pingURL := createCheck(t, greeting, `{"name": "nightly backup", "timeout": 3600, "grace": 3600}`)
	request(t, http.MethodPost, pingURL, "", "")

	addr := start(t, path, greeting)
	eventually(t, "Prometheus is not ready", func() bool {
		res, err := http.Get("http://" + addr + "/-/ready")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	api := "http://" + addr + "/api/v1/"

	for _, job := range []string{"rollcall", "rollcall-checks"} {
		wait(t, api, `up{job="`+job+`"} == 1`, 1)
	}
	wait(t, api, `rollcall_pings_total > 0`, 1)
	wait(t, api, `rollcall_check_up{name="nightly backup", project="default"} == 1`, 1)
	request(t, http.MethodPost, pingURL+"/fail", "", "")
	wait(t, api, `rollcall_check_up{name="nightly backup"} == 0`, 1)
	wait(t, api, `ALERTS{alertname="CheckDown", alertstate="firing", name="nightly backup"}`, 1)
	// No other rule fires about a healthy server.
	wait(t, api, `ALERTS{alertname!="CheckDown"}`, 0)

	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct{ Name, Health, LastError string }
		}
	}
	get(t, api+"rules", &rules)
	if diff := cmp.Diff(2, len(rules.Groups)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				t.Errorf("%s: %s is %s: %s", group.Name, rule.Name, rule.Health, rule.LastError)
			}
		}
	}
}

// start runs Prometheus until the test ends, and returns its address.
func start(t *testing.T, path string, greeting program.Greeting) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	dir := t.TempDir()
	configure(t, dir, greeting)
	cmd := program.Command(context.Background(), path,
		"--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address="+addr)
	var output bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus printed:\n%s", &output)
		}
	})
	return addr
}

// configure writes the configuration into a directory, with the addresses of the server and short intervals.
func configure(t *testing.T, dir string, greeting program.Greeting) {
	t.Helper()
	key := filepath.Join(dir, "rollcall.key")
	replace := strings.NewReplacer(
		"rollcall.example.org:9100", strings.TrimSuffix(strings.TrimPrefix(greeting.MetricsURL, "http://"), "/metrics"),
		"rollcall.example.org", strings.TrimPrefix(greeting.URL, "http://"),
		"scheme: https", "scheme: http",
		"/etc/prometheus/rollcall.key", key,
		"scrape_interval: 30s", "scrape_interval: 1s\n  evaluation_interval: 1s",
	)
	for from, to := range map[string]string{"prometheus.yml": "prometheus.yml", "rules.yml": "rules.yml"} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), []byte(replace.Replace(string(content))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(key, []byte(greeting.ReadOnlyKey), 0o600); err != nil {
		t.Fatal(err)
	}
}

// createCheck returns the address for the pings of a new check.
func createCheck(t *testing.T, greeting program.Greeting, body string) string {
	t.Helper()
	var check struct {
		PingURL string `json:"ping_url"`
	}
	if err := json.Unmarshal(request(t, http.MethodPost, greeting.URL+"/api/v3/checks/", greeting.Key, body), &check); err != nil {
		t.Fatal(err)
	}
	return check.PingURL
}

// request makes a request and returns the body of the answer, which must have a status 2xx.
func request(t *testing.T, method, address, key, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("X-Api-Key", key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %s %v", method, address, res.StatusCode, content, err)
	}
	return content
}

// get decodes the data of an answer of Prometheus: https://prometheus.io/docs/prometheus/latest/querying/api/.
func get(t *testing.T, address string, data any) {
	t.Helper()
	var answer struct {
		Status string
		Data   json.RawMessage
	}
	content := request(t, http.MethodGet, address, "", "")
	if err := json.Unmarshal(content, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v\n%s", address, err, content)
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		t.Fatalf("%s: %v\n%s", address, err, content)
	}
}

// wait asks until a query has as many results.
func wait(t *testing.T, api, query string, results int) {
	t.Helper()
	eventually(t, query, func() bool {
		var data struct {
			Result []json.RawMessage
		}
		get(t, api+"query?"+url.Values{"query": {query}}.Encode(), &data)
		return len(data.Result) == results
	})
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", patience, what)
		}
	}
}
