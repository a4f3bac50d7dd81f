// Package compose holds files for Docker Compose. Its tests start a server with the environment in them.
package compose

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/examples/internal/imagetest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// project has every field of the files, so that an unknown one is an error.
type project struct {
	Name     string
	Services map[string]service
	Secrets  map[string]struct{ File string }
	Volumes  map[string]any
}

type service struct {
	Image, Restart, User string
	DependsOn            map[string]struct{ Condition string } `yaml:"depends_on"`
	Ports                []string
	Environment          map[string]string
	Secrets              []string
	Volumes, Tmpfs       []string
	Healthcheck          struct {
		Test              []string
		Interval, Timeout string
		StartPeriod       string `yaml:"start_period"`
		Retries           int
	}
	ReadOnly        bool     `yaml:"read_only"`
	CapDrop         []string `yaml:"cap_drop"`
	SecurityOpt     []string `yaml:"security_opt"`
	ShmSize         string   `yaml:"shm_size"`
	StopGracePeriod string   `yaml:"stop_grace_period"`
}

func load(t *testing.T, file string) project {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p project
	if err := yaml.Load(content, &p, yaml.WithKnownFields()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p
}

// variable is a variable of Compose with a default.
var variable = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`)

func TestServer(t *testing.T) {
	for _, file := range []string{"compose.yaml", "compose.sqlite.yaml"} {
		t.Run(file, func(t *testing.T) {
			s := load(t, file).Services["rollcall"]
			imagetest.CheckImage(t, s.Image)
			port := imagetest.Port(t)
			if diff := cmp.Diff([]string{"127.0.0.1:" + port + ":" + port}, s.Ports); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
			env := map[string]string{}
			for name, value := range s.Environment {
				env[name] = variable.ReplaceAllString(value, "$1")
			}
			if secret, ok := env["ROLLCALL_DATABASE_FILE"]; ok {
				if diff := cmp.Diff([]string{filepath.Base(secret)}, s.Secrets); diff != "" || filepath.Dir(secret) != "/run/secrets" {
					t.Errorf("secret %s (-want +got):\n%s", secret, diff)
				}
				env["ROLLCALL_DATABASE_FILE"] = filepath.Join(t.TempDir(), "database")
				if err := os.WriteFile(env["ROLLCALL_DATABASE_FILE"], []byte(dbtest.PostgreSQL(t).URL), 0o600); err != nil {
					t.Fatal(err)
				}
			} else {
				env["ROLLCALL_DATABASE"] = "sqlite:" + filepath.Join(t.TempDir(), "rollcall.db") // the default, below /data
			}
			imagetest.Healthy(t, imagetest.Serve(t, env, []string{"serve"})+"/readyz")
		})
	}
}

func TestVariables(t *testing.T) { imagetest.CheckVariables(t) }

// TestPolicy: no service has more rights than it needs, and each survives a restart of the machine with its data.
func TestPolicy(t *testing.T) {
	for _, file := range []string{"compose.yaml", "compose.sqlite.yaml"} {
		p := load(t, file)
		used := map[string]bool{}
		for name, s := range p.Services {
			if !s.ReadOnly || s.Restart != "unless-stopped" || s.StopGracePeriod == "" {
				t.Errorf("%s: %s: %+v", file, name, s)
			}
			if diff := cmp.Diff([][]string{{"ALL"}, {"no-new-privileges:true"}}, [][]string{s.CapDrop, s.SecurityOpt}); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", file, name, diff)
			}
			for _, mount := range s.Volumes {
				volume, _, _ := strings.Cut(mount, ":")
				used[volume] = true
			}
			for _, secret := range s.Secrets {
				if p.Secrets[secret].File != "secrets/"+secret {
					t.Errorf("%s: %s: the secret %s has no file", file, name, secret)
				}
			}
			for other, condition := range s.DependsOn {
				if len(p.Services[other].Healthcheck.Test) == 0 || condition.Condition != "service_healthy" {
					t.Errorf("%s: %s does not wait until %s is healthy", file, name, other)
				}
			}
			for key := range s.Environment {
				if strings.HasSuffix(key, "PASSWORD") || key == "ROLLCALL_DATABASE" {
					t.Errorf("%s: %s: a secret in the environment: %s", file, name, key)
				}
			}
		}
		for volume := range p.Volumes {
			if !used[volume] {
				t.Errorf("%s: nothing uses the volume %s", file, volume)
			}
		}
		if len(used) != len(p.Volumes) {
			t.Errorf("%s: volumes %v, but mounts of %v", file, p.Volumes, used)
		}
	}
}

// TestPostgreSQL: the URL of the manual names the user and the host of the file, and the version is a major one.
func TestPostgreSQL(t *testing.T) {
	s := load(t, "compose.yaml").Services["postgres"]
	if !regexp.MustCompile(`^postgres:\d+$`).MatchString(s.Image) {
		t.Errorf("image %s", s.Image)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "postgres://" + s.Environment["POSTGRES_USER"] + ":%s@postgres/"; !strings.Contains(string(readme), want) {
		t.Errorf("README has no %s", want)
	}
}
