package kubeadm

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/runtime"
)

// withKubeadm adds to the fake host a kubeadm that writes the files of the real one, and a
// systemctl that tracks the kubelet. The kubelet is healthy unless unhealthy is set.
func withKubeadm(t *testing.T, f *hosttest.Fake, m Machine, a *kubetest.API) (unhealthy *atomic.Bool) {
	running, enabled := false, false
	unhealthy = new(atomic.Bool)
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !running || unhealthy.Load() {
			http.Error(w, "unhealthy", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(kubelet.Close)
	healthz := "healthzBindAddress: 0.0.0.0\nhealthzPort: " + kubelet.URL[strings.LastIndex(kubelet.URL, ":")+1:] + "\n"
	start := func(files ...string) func(host.Cmd) ([]byte, error) {
		return func(host.Cmd) ([]byte, error) {
			running = true
			f.Put(t, runtime.KubeletConfig, healthz)
			f.Put(t, kube.ClusterCA, a.CA())
			for _, file := range files {
				f.Put(t, file, a.Kubeconfig(m.Path(kube.ClusterCA)))
			}
			return nil, nil
		}
	}
	f.Answers["kubeadm init"] = start(kube.AdminConf, kube.SchedulerConf)
	f.Answers["kubeadm join"] = start(kube.KubeletConf)
	f.Answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) { running = false; return nil, nil }
	f.Answers["systemctl enable kubelet"] = func(host.Cmd) ([]byte, error) { enabled = true; return nil, nil }
	f.Answers["systemctl enable --now kubelet"] = func(host.Cmd) ([]byte, error) { running, enabled = true, true; return nil, nil }
	f.Answers["systemctl disable --now kubelet"] = func(host.Cmd) ([]byte, error) { running, enabled = false, false; return nil, nil }
	f.Answers["systemctl stop kubelet"] = func(host.Cmd) ([]byte, error) { running = false; return nil, nil }
	is := func(what *bool) func(host.Cmd) ([]byte, error) {
		return func(_ host.Cmd) ([]byte, error) {
			if *what {
				return nil, nil
			}
			return nil, &host.CommandError{Argv: []string{"systemctl"}, ExitCode: 3, Err: errors.New("exit status 3")}
		}
	}
	f.Answers["systemctl is-active --quiet kubelet"] = is(&running)
	f.Answers["systemctl is-enabled --quiet kubelet"] = is(&enabled)
	return unhealthy
}
