package wrap

import "fmt"

// DropInName is the name of the drop-in beside a service.
const DropInName = "50-rollcall.conf"

// DropIn returns the drop-in that makes a service of systemd report. The services's own commands stay as they are, and failures of
// rollcall's do not count. The wait before the job is bounded, because systemd waits for ExecStartPre=.
func (f Form) DropIn() ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `# Written by rollcall discover --wrap. rollcall discover --unwrap deletes this file.
[Service]
ExecStartPre=-%[1]s ping start --from-systemd --timeout 2s --settings %[2]s --slug %[3]s
ExecStopPost=-%[1]s ping --from-systemd --settings %[2]s --slug %[3]s
`, f.Binary, f.Settings, f.Slug), nil
}
