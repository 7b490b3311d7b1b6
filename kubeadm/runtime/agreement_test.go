package runtime

import (
	"context"
	"errors"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/step"
)

// silent simulates a kubelet that does not answer.
func silent(context.Context) (string, error) { return "", errors.New("connection refused") }

const ourMirrors = "[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '/etc/containerd/certs.d'\n"

// agreeing returns the step with a kubelet that does not answer and cannot fetch a configuration.
func agreeing(m host.Machine) step.Step {
	restart := func(ctx context.Context) error { return m.Run(ctx, "systemctl", "restart", "kubelet") }
	return AgreementStep(m, Kubelet{Running: silent, Restart: restart, Fetch: restart})
}

func dumpWith(defaultRuntime, more string) string {
	return "version = 4\n" + ourMirrors + "[plugins.'io.containerd.cri.v1.runtime'.cni]\nconf_dir = '/etc/airgap/cni/net.d'\n" +
		"[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = '" + defaultRuntime + "'\n" +
		"[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n" + more
}

func TestReadBack(t *testing.T) {
	gpu := "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]\nBinaryName = '/usr/bin/nvidia-container-runtime'\n"
	for name, tc := range map[string]struct {
		dump, kubelet string
		says          string // "" if all agree
	}{
		"agree":                       {dumpWith("runc", ""), "cgroupDriver: systemd\n", ""},
		"the kubelet differs":         {dumpWith("runc", ""), "healthzPort: 0\ncgroupDriver: cgroupfs\n", "the kubelet uses cgroupfs"},
		"the kubelet has its default": {dumpWith("runc", ""), "healthzPort: 0\nkind: KubeletConfiguration\n", "the kubelet uses cgroupfs"},
		"a toolkit took over":         {dumpWith("nvidia", gpu), "cgroupDriver: systemd\n", "containerd uses cgroupfs"},
		"the default is gone":         {dumpWith("nvidia", ""), "cgroupDriver: systemd\n", `default runtime "nvidia" is not defined`},
		"another's mirrors": {strings.Replace(dumpWith("runc", ""), "/etc/containerd/certs.d", "/etc/docker/certs.d", 1), "cgroupDriver: systemd\n",
			`from "/etc/docker/certs.d" instead of /etc/containerd/certs.d`},
		"another's network": {strings.Replace(dumpWith("runc", ""), "/etc/airgap/cni/net.d", "/etc/cni/net.d", 1), "cgroupDriver: systemd\n",
			`from "/etc/cni/net.d" instead of /etc/airgap/cni/net.d`},
		"no mirrors": {strings.Replace(dumpWith("runc", ""), ourMirrors, "", 1), "cgroupDriver: systemd\n", `from "" instead of`},
		"version 2": {"version = 2\n[plugins.'io.containerd.grpc.v1.cri'.registry]\nconfig_path = '/etc/containerd/certs.d'\n" +
			"[plugins.'io.containerd.grpc.v1.cri'.cni]\nconf_dir = '/etc/airgap/cni/net.d'\n" +
			"[plugins.'io.containerd.grpc.v1.cri'.containerd]\ndefault_runtime_name = 'runc'\n" +
			"[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\nSystemdCgroup = true\n", "cgroupDriver: systemd\n", ""},
		"no TOML": {"version = ", "cgroupDriver: systemd\n", "read the runtime's effective configuration"},
		"no YAML": {dumpWith("runc", ""), "{", "read the kubelet's configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := hosttest.New(t)
			f.Put(t, "proc/1/comm", "systemd\n")
			f.Put(t, KubeletConfig, tc.kubelet)
			f.Answers[host.BinDir+"/containerd --config "+containerdConfig+" config dump"] = func(host.Cmd) ([]byte, error) { return []byte(tc.dump), nil }
			err := agreeing(m).Run(t.Context())
			switch {
			case tc.says == "" && err != nil:
				t.Error(err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

func TestAgreementStepHolds(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "proc/1/comm", "systemd\n")
	f.Put(t, KubeletConfig, "cgroupDriver: systemd\n")
	f.Answers[host.BinDir+"/containerd"] = func(host.Cmd) ([]byte, error) { return []byte(dumpWith("runc", "")), nil }
	hosttest.MustBeDone(t, agreeing(m).Done, true)
	f.Put(t, KubeletConfig, "cgroupDriver: cgroupfs\n")
	hosttest.MustBeDone(t, agreeing(m).Done, false)
}
