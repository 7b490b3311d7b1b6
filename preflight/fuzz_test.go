package preflight

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"airgap.dev/airgap/preflight/facts"
)

// FuzzSurvey: a survey can be damaged on its way. The facts from it can be written and read.
func FuzzSurvey(f *testing.F) {
	for _, name := range []string{"rocky9", "rocky8-once-a-node", "rocky9-unprivileged"} {
		f.Add(append(recording(f, name), "-- end/ --\n"...))
	}
	f.Add([]byte("-- fs/etc/systemd/system/kubelet.service.d/a.conf --\nEnvironment=\"A=\xff\" \\\n-- fs/proc/sys/net/ipv4/ip_local_port_range --\n-1 99999999999999999999\n" +
		"-- fs/proc/sys/net/ipv4/ip_local_reserved_ports --\n0-4294967296\n-- run/rpm -qa --\nN\t\xff\n-- end/ --\n"))
	f.Add([]byte("-- fs/etc/os-release --\nID=rocky\n-- fs/../x --\n-- end/ --\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		gathered, err := facts.ReadSurvey(t.Context(), bytes.NewReader(text))
		if err != nil {
			return
		}
		var written bytes.Buffer
		if err := gathered.Write(&written); err != nil {
			t.Fatal(err)
		}
		if written.Len() > 10*len(text)+1<<16 {
			t.Errorf("%d bytes of facts from a survey of %d bytes", written.Len(), len(text))
		}
		if _, err := facts.ReadFacts(&written); err != nil {
			t.Error(err)
		}
		uses := Want{Ports: controlPlanePorts(), NodePorts: [][2]int{{30000, 32767}}, NodeAddress: "10.20.0.11", PortsFile: "/etc/a.conf", SysctlFile: "/etc/b.conf"}
		if _, err := Run(t.Context(), gathered, uses, Choice{}); err != nil {
			t.Error(err)
		}
	})
}

// FuzzReports: a report from a file can be shown in every format, and written and read again.
func FuzzReports(f *testing.F) {
	f.Add([]byte(`{"host": "a", "taken": "2026-11-18T11:06:40Z", "worst": "pass", "results": [{"id": "swap", "status": "fail", "found": "x\u001b"}]}`))
	f.Add([]byte(`[{"host": "a", "results": [{"id": "swap", "status": "skip"}]}, {"host": "a", "results": [{"id": "<", "status": "error"}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := ReadReports(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, show := range []func(io.Writer) error{all.Text, all.JUnit, all.HTML} {
			if err := show(io.Discard); err != nil {
				t.Error(err)
			}
		}
		written, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ReadReports(bytes.NewReader(written)); err != nil || again.Passed() != all.Passed() {
			t.Errorf("%s comes back as %+v, %v", written, again, err)
		}
	})
}
