// Package prometheus holds a configuration of Prometheus with alert rules. Its test scrapes a server by them.
package prometheus

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
	"github.com/rollcall-dev/rollcall/server/metrics"
)

// config has the options of Prometheus that the configuration uses.
type config struct {
	Global struct {
		ScrapeInterval model.Duration `yaml:"scrape_interval"`
	}
	RuleFiles     []string `yaml:"rule_files"`
	ScrapeConfigs []struct {
		JobName       string `yaml:"job_name"`
		Scheme        string
		MetricsPath   string `yaml:"metrics_path"`
		Authorization struct {
			CredentialsFile string `yaml:"credentials_file"`
		}
		StaticConfigs []struct {
			Targets []string
			Labels  map[string]string
		} `yaml:"static_configs"`
	} `yaml:"scrape_configs"`
}

// rules is a file of alert rules.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert       string
			Expr        string
			For         model.Duration
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Load(content, into, yaml.WithKnownFields()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// serve runs rollcall until the test ends and returns what it prints at its start.
func serve(t *testing.T) program.Greeting {
	t.Helper()
	dir := t.TempDir()
	path, err := program.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &program.Server{Path: path, Args: []string{"--database", "sqlite:" + filepath.Join(dir, "db")}, Log: os.Stderr}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s.Greeting()
}

// scrape reads metrics as Prometheus does. The key may be empty.
func scrape(t *testing.T, url, key string) map[string]*dto.MetricFamily {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v\n%s", url, answer.StatusCode, err, body)
	}
	if problems, err := promlint.New(strings.NewReader(string(body))).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%s: promlint: %v, %v", url, problems, err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return families
}

func TestScrape(t *testing.T) {
	var c config
	load(t, "prometheus.yml", &c)
	greeting := serve(t)
	found := map[string]bool{}
	for _, job := range c.ScrapeConfigs {
		base, path, credentials := strings.TrimSuffix(greeting.MetricsURL, "/metrics"), job.MetricsPath, ""
		if path == "" {
			path = "/metrics" // the default of Prometheus
		}
		if job.Authorization.CredentialsFile != "" {
			base, credentials = greeting.URL, greeting.ReadOnlyKey
		}
		for name := range scrape(t, base+path, credentials) {
			found[name] = true
		}
	}
	if !found["rollcall_pings_total"] || !found["rollcall_checks"] {
		t.Errorf("metrics are missing: %v", found)
	}

	// The rules use only metrics that exist.
	for _, name := range names() {
		found[name] = true
	}
	for _, name := range []string{"rollcall_check_up", "rollcall_check_in_maintenance", "rollcall_check_last_duration_seconds", "rollcall_checks_omitted"} {
		found[name] = true // there are no checks yet, and not too many
	}
	for _, file := range c.RuleFiles {
		var r rules
		load(t, file, &r)
		for _, group := range r.Groups {
			for _, rule := range group.Rules {
				for _, name := range regexp.MustCompile(`\brollcall_\w+`).FindAllString(rule.Expr, -1) {
					if !found[name] && !found[strings.TrimSuffix(name, "_bucket")] {
						t.Errorf("%s: there is no metric %s", rule.Alert, name)
					}
				}
				if rule.Alert == "" || rule.Expr == "" || rule.Annotations["summary"] == "" || rule.Labels["severity"] == "" {
					t.Errorf("%+v is not complete", rule)
				}
			}
		}
		if diff := cmp.Diff(2, len(r.Groups)); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
	}
}

// names returns the metrics of a server, including those without a value yet.
func names() []string {
	descs := make(chan *client.Desc, 100)
	metrics.New().Describe(descs)
	close(descs)
	var list []string
	for desc := range descs {
		if match := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(desc.String()); match != nil {
			list = append(list, match[1])
		}
	}
	return list
}
