package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/examples/internal/imagetest"
	"github.com/rollcall-dev/rollcall/examples/internal/testserver"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// object has the fields of the documents that the tests look at.
type object struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		Replicas            int
		UpdateStrategy      struct{ Type string } `yaml:"updateStrategy"`
		PodManagementPolicy string                `yaml:"podManagementPolicy"`
		ServiceName         string                `yaml:"serviceName"`
		Template            struct {
			Metadata struct{ Labels map[string]string }
			Spec     podSpec
		}
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
		Rules                []struct {
			HTTP struct {
				Paths []struct {
					Backend struct {
						Service struct {
							Name string
							Port struct{ Name string }
						}
					}
				}
			}
		}
		// Of a Service and of a NetworkPolicy.
		Selector map[string]any
		Ports    []struct {
			Name       string
			TargetPort string `yaml:"targetPort"`
		}
		PodSelector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"podSelector"`
		PolicyTypes []string `yaml:"policyTypes"`
		Ingress     []struct{ Ports []struct{ Port string } }
		Egress      []struct{ Ports []struct{ Port int } }
	}
}

type podSpec struct {
	AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
	EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
	TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               struct {
		RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
		RunAsUser      int                   `yaml:"runAsUser"`
		RunAsGroup     int                   `yaml:"runAsGroup"`
		FSGroup        int                   `yaml:"fsGroup"`
		SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Containers []serverContainer
	Volumes    []struct {
		Name                  string
		Secret                struct{ SecretName string }
		PersistentVolumeClaim struct {
			ClaimName string `yaml:"claimName"`
		} `yaml:"persistentVolumeClaim"`
	}
}

type serverContainer struct {
	Name, Image string
	Args        []string
	Env         []struct{ Name, Value string }
	Ports       []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	StartupProbe    probe `yaml:"startupProbe"`
	LivenessProbe   probe `yaml:"livenessProbe"`
	ReadinessProbe  probe `yaml:"readinessProbe"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct{ Drop []string }
	} `yaml:"securityContext"`
	Resources    struct{ Requests, Limits map[string]string }
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet          struct{ Path, Port string } `yaml:"httpGet"`
	PeriodSeconds    int                         `yaml:"periodSeconds"`
	FailureThreshold int                         `yaml:"failureThreshold"`
}

// load returns the documents of a file by their kinds.
func load(t *testing.T, file string) map[string]object {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]object{}
	for _, document := range bytes.Split(content, []byte("\n---\n")) {
		var o object
		if err := yaml.Load(document, &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if _, twice := objects[o.Kind]; twice || o.Metadata.Name != "rollcall" {
			t.Errorf("%s: %s %s", file, o.Kind, o.Metadata.Name)
		}
		objects[o.Kind] = o
	}
	return objects
}

// workloads are the files with a server.
var workloads = []string{"sqlite.yaml", "postgres.yaml"}

func (c serverContainer) env() map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	return env
}

// mounted reports whether a volume is mounted at a path.
func mounted(c serverContainer, path string) bool {
	for _, m := range c.VolumeMounts {
		if m.MountPath == path {
			return true
		}
	}
	return false
}

// TestServer starts a server with the environment and the arguments of the file, and asks its probes.
func TestServer(t *testing.T) {
	for _, file := range workloads {
		t.Run(file, func(t *testing.T) {
			pod := load(t, file)["StatefulSet"].Spec.Template.Spec
			c := pod.Containers[0]
			imagetest.CheckImage(t, c.Image)
			if port := strconv.Itoa(c.Ports[0].ContainerPort); port != imagetest.Port(t) || c.Ports[0].Name != "http" {
				t.Errorf("ports %+v, the image has %s", c.Ports, imagetest.Port(t))
			}
			env, dir := c.env(), t.TempDir()
			if path, ok := env["ROLLCALL_DATABASE_FILE"]; ok {
				if c.VolumeMounts[0].MountPath != filepath.Dir(path) || c.VolumeMounts[0].Name != pod.Volumes[0].Name {
					t.Errorf("nothing is mounted at %s", path)
				}
				env["ROLLCALL_DATABASE_FILE"] = filepath.Join(dir, "database")
				if err := os.WriteFile(env["ROLLCALL_DATABASE_FILE"], []byte(dbtest.PostgreSQL(t).URL), 0o600); err != nil {
					t.Fatal(err)
				}
			} else {
				if env["ROLLCALL_DATABASE"] != "sqlite:"+c.VolumeMounts[0].MountPath+"/rollcall.db" {
					t.Errorf("database %s, mount %+v", env["ROLLCALL_DATABASE"], c.VolumeMounts)
				}
				env["ROLLCALL_DATABASE"] = "sqlite:" + filepath.Join(dir, "rollcall.db")
			}
			if spool := env["ROLLCALL_SPOOL"]; spool != "" {
				if !mounted(c, filepath.Dir(spool)) {
					t.Errorf("the spool %s is on no volume", spool)
				}
				env["ROLLCALL_SPOOL"] = filepath.Join(dir, "spool")
			}
			url := imagetest.Serve(t, env, c.Args)
			for want, p := range map[string][]probe{"/livez": {c.StartupProbe, c.LivenessProbe}, "/readyz": {c.ReadinessProbe}} {
				for _, p := range p {
					if p.HTTPGet.Path != want || p.HTTPGet.Port != c.Ports[0].Name {
						t.Errorf("probe %+v, want %s", p, want)
					}
					imagetest.Healthy(t, url+p.HTTPGet.Path)
				}
			}
		})
	}
}

func TestVariables(t *testing.T) { imagetest.CheckVariables(t) }

// TestRestricted: the pods fit the Pod Security Standard restricted, and the container can change only its volume.
func TestRestricted(t *testing.T) {
	for _, file := range workloads {
		pod := load(t, file)["StatefulSet"].Spec.Template.Spec
		c, s := pod.Containers[0], pod.SecurityContext
		if !s.RunAsNonRoot || s.RunAsUser != 65532 || s.RunAsGroup != 65532 || s.FSGroup != 65532 || s.SeccompProfile.Type != "RuntimeDefault" {
			t.Errorf("%s: security context of the pod: %+v", file, s)
		}
		if escalate := c.SecurityContext.AllowPrivilegeEscalation; escalate == nil || *escalate || !c.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("%s: security context of the container: %+v", file, c.SecurityContext)
		}
		if diff := cmp.Diff([]string{"ALL"}, c.SecurityContext.Capabilities.Drop); diff != "" {
			t.Errorf("%s: capabilities (-want +got):\n%s", file, diff)
		}
		for name, flag := range map[string]*bool{"service account token": pod.AutomountServiceAccountToken, "service links": pod.EnableServiceLinks} {
			if flag == nil || *flag {
				t.Errorf("%s: the pod gets a %s", file, name)
			}
		}
		if c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
			t.Errorf("%s: resources %v", file, c.Resources)
		}
	}
}

// TestShutdown: Kubernetes waits longer than the server needs to stop, and for the migrations of a start.
func TestShutdown(t *testing.T) {
	for _, file := range workloads {
		spec := load(t, file)["StatefulSet"].Spec
		c := spec.Template.Spec.Containers[0]
		need := 10 * time.Second // the default of ROLLCALL_SHUTDOWN_TIMEOUT
		if delay := c.env()["ROLLCALL_SHUTDOWN_DELAY"]; delay != "" {
			d, err := time.ParseDuration(delay)
			if err != nil {
				t.Error(err)
			}
			need += d
		} else if spec.Replicas > 1 {
			t.Errorf("%s: a pod that ends refuses pings before all proxies know it", file)
		}
		if grace := time.Duration(spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second; grace < need+10*time.Second {
			t.Errorf("%s: grace period %v, the server needs %v", file, grace, need)
		}
		if start := c.StartupProbe.PeriodSeconds * c.StartupProbe.FailureThreshold; start < 600 {
			t.Errorf("%s: a start may take %d s", file, start)
		}
	}
}

// TestNames: services, policies and ingress find the pods.
func TestNames(t *testing.T) {
	for _, file := range workloads {
		objects := load(t, file)
		spec := objects["StatefulSet"].Spec
		labels := spec.Template.Metadata.Labels
		service := objects["Service"].Spec
		if diff := cmp.Diff(labels["app.kubernetes.io/name"], service.Selector["app.kubernetes.io/name"]); diff != "" || len(labels) != 1 {
			t.Errorf("%s: service (-want +got):\n%s", file, diff)
		}
		if service.Ports[0].TargetPort != spec.Template.Spec.Containers[0].Ports[0].Name {
			t.Errorf("%s: the service has the ports %+v", file, service.Ports)
		}
		backend := load(t, "ingress.yaml")["Ingress"].Spec.Rules[0].HTTP.Paths[0].Backend.Service
		if backend.Name != objects["Service"].Metadata.Name || backend.Port.Name != service.Ports[0].Name {
			t.Errorf("%s: the ingress sends to %+v", file, backend)
		}
	}

	sqlite := load(t, "sqlite.yaml")["StatefulSet"].Spec
	if sqlite.Replicas != 1 || sqlite.ServiceName != "rollcall" || sqlite.VolumeClaimTemplates[0].Metadata.Name != sqlite.Template.Spec.Containers[0].VolumeMounts[0].Name {
		t.Errorf("StatefulSet %+v", sqlite)
	}
	objects := load(t, "postgres.yaml")
	shared := objects["StatefulSet"].Spec
	labels := shared.Template.Metadata.Labels
	if shared.Replicas < 2 || !slices.Contains([]string{"", "RollingUpdate"}, shared.UpdateStrategy.Type) || shared.PodManagementPolicy != "Parallel" {
		t.Error("an update may stop pings")
	}
	if c := shared.Template.Spec.Containers[0]; c.env()["ROLLCALL_SPOOL"] == "" || len(shared.VolumeClaimTemplates) != 1 ||
		c.VolumeMounts[1].Name != shared.VolumeClaimTemplates[0].Metadata.Name {
		t.Error("an outage of PostgreSQL stops pings")
	}
	policy := objects["NetworkPolicy"].Spec
	if diff := cmp.Diff(labels, policy.PodSelector.MatchLabels); diff != "" {
		t.Errorf("NetworkPolicy (-want +got):\n%s", diff)
	}
	var ports []int
	for _, p := range policy.Egress[len(policy.Egress)-1].Ports {
		ports = append(ports, p.Port)
	}
	if diff := cmp.Diff([]int{443, 80, 25, 465, 587, 1883, 8883}, ports); diff != "" {
		t.Errorf("ports for alerts (-want +got):\n%s", diff)
	}
	if !slices.Contains(policy.PolicyTypes, "Egress") || policy.Ingress[0].Ports[0].Port != "http" {
		t.Errorf("NetworkPolicy %+v", policy)
	}
	budget, ok := objects["PodDisruptionBudget"].Spec.Selector["matchLabels"].(map[string]any)
	if !ok || budget["app.kubernetes.io/name"] != labels["app.kubernetes.io/name"] {
		t.Errorf("PodDisruptionBudget %+v", objects["PodDisruptionBudget"].Spec)
	}
}

// TestBackup runs the CronJob of backups on two nights. It mounts the volume of the server, whose image and user it has.
func TestBackup(t *testing.T) {
	content, err := os.ReadFile("backup.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		Spec struct {
			Schedule    string
			JobTemplate struct {
				Spec struct{ Template struct{ Spec podSpec } }
			} `yaml:"jobTemplate"`
		}
	}
	if err := yaml.Load(content, &job); err != nil {
		t.Fatal(err)
	}
	if _, err := schedule.Parse(job.Spec.Schedule); err != nil {
		t.Error(err)
	}
	server := load(t, "sqlite.yaml")["StatefulSet"]
	pod, serverPod := job.Spec.JobTemplate.Spec.Template.Spec, server.Spec.Template.Spec
	c := pod.Containers[0]
	if diff := cmp.Diff(serverPod.SecurityContext, pod.SecurityContext); diff != "" {
		t.Errorf("security context (-server +backup):\n%s", diff)
	}
	if diff := cmp.Diff(serverPod.Containers[0].SecurityContext, c.SecurityContext); diff != "" || c.Image != serverPod.Containers[0].Image {
		t.Errorf("%s, security context (-server +backup):\n%s", c.Image, diff)
	}
	claim := server.Spec.VolumeClaimTemplates[0].Metadata.Name + "-" + server.Metadata.Name + "-0"
	if pod.Volumes[0].PersistentVolumeClaim.ClaimName != claim || c.VolumeMounts[0].Name != pod.Volumes[0].Name || c.env()["ROLLCALL_DATABASE"] != serverPod.Containers[0].env()["ROLLCALL_DATABASE"] {
		t.Errorf("the backup has another volume or database: %+v", pod)
	}
	bin, dir := t.TempDir(), t.TempDir()
	testserver.Rollcall(t, bin)
	for _, args := range [][]string{{"migrate"}, c.Args, c.Args} {
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, c.VolumeMounts[0].MountPath, dir)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "rollcall"), args...)
		cmd.Env = []string{"ROLLCALL_DATABASE=" + strings.ReplaceAll(c.env()["ROLLCALL_DATABASE"], c.VolumeMounts[0].MountPath, dir)}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	if backups, err := filepath.Glob(filepath.Join(dir, "backups", "rollcall-*.db")); err != nil || len(backups) != 2 {
		t.Errorf("%q, %v", backups, err)
	}
}
