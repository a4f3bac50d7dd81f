// Package kubernetes holds a CronJob that pings, and manifests for servers. Its tests run what the containers run.
package kubernetes

import (
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/examples/internal/testserver"
)

// cronJob has every field of the file, so that an unknown one is an error.
type cronJob struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Schedule          string
		TimeZone          string `yaml:"timeZone"`
		ConcurrencyPolicy string `yaml:"concurrencyPolicy"`
		JobTemplate       struct {
			Spec struct {
				BackoffLimit int `yaml:"backoffLimit"`
				Template     struct {
					Spec struct {
						RestartPolicy string `yaml:"restartPolicy"`
						Containers    []container
					}
				}
			}
		} `yaml:"jobTemplate"`
	}
}

type container struct {
	Name, Image string
	Command     []string
	Env         []struct {
		Name      string
		ValueFrom struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
}

func TestCronJob(t *testing.T) {
	testserver.Require(t, "curl")
	content, err := os.ReadFile("cronjob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job cronJob
	if err := yaml.Load(content, &job, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	if _, err := schedule.Parse(job.Spec.Schedule); err != nil {
		t.Error(err)
	}
	if _, err := schedule.LoadLocation(job.Spec.TimeZone); err != nil {
		t.Error(err)
	}
	c := job.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	site := testserver.Start(t)
	bin := testserver.Job(t)
	run := func(fail string) error {
		cmd := exec.CommandContext(t.Context(), c.Command[0], c.Command[1:]...)
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), c.Env[0].Name + "=" + site.PingURL, "FAIL=" + fail}
		return cmd.Run()
	}
	if err := run(""); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"start", "success"}, site.Pings()); diff != "" {
		t.Errorf("pings (-want +got):\n%s", diff)
	}
	if err := run("yes"); err == nil {
		t.Error("the container hides that the job has failed")
	}
	if diff := cmp.Diff([]string{"start", "fail"}, site.Pings()); diff != "" {
		t.Errorf("pings (-want +got):\n%s", diff)
	}
}
