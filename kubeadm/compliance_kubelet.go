package kubeadm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/process"
	"airgap.dev/airgap/kubeadm/runtime"
)

// kubeletFound is what is known of this host's kubelet.
type kubeletFound struct {
	here   bool           // the host has one
	runs   bool           // and it runs
	flags  map[string]any // what its arguments say: they displace its file
	answer map[string]any // its answer at /configz; nil where there is none
	why    error          // why there is none
	path   string         // the file that it reads when it starts
	dir    string         // with files that it reads after that one
	file   map[string]any
}

// kubeletFlags are the arguments that displace fields.
func kubeletFlags() map[string]string {
	return map[string]string{
		"anonymous-auth": "authentication.anonymous.enabled", "authorization-mode": "authorization.mode",
		"client-ca-file": "authentication.x509.clientCAFile", "read-only-port": "readOnlyPort",
		"streaming-connection-idle-timeout": "streamingConnectionIdleTimeout", "make-iptables-util-chains": "makeIPTablesUtilChains",
		"rotate-certificates": "rotateCertificates", "tls-cipher-suites": "tlsCipherSuites", "tls-min-version": "tlsMinVersion",
		"pod-max-pids": "podPidsLimit", "seccomp-default": "seccompDefault", "protect-kernel-defaults": "protectKernelDefaults",
	}
}

// askKubelet reads the kubelet's arguments, its /configz and its file.
func (m Machine) askKubelet(ctx context.Context, configz func(context.Context) ([]byte, error)) (kubeletFound, error) {
	k := kubeletFound{path: runtime.KubeletConfig, flags: map[string]any{}}
	p, err := node.KubeletProcess(m.Machine)
	if err != nil && !errors.Is(err, process.ErrNone) {
		return k, err
	}
	k.runs = err == nil
	if other := p.Flags["config"]; other != "" {
		k.path = other
	}
	k.dir = p.Flags["config-dir"]
	for name, path := range kubeletFlags() {
		if value, given := p.Flags[name]; given {
			k.flags = overlay.Merge(k.flags, nested(strings.Split(path, "."), value))
		}
	}
	if k.file, err = m.kubeletFields(k.path); err != nil {
		return k, err
	}
	if k.file, err = m.dropIns(k.file, k.dir); err != nil {
		return k, err
	}
	k.here = k.runs || k.file != nil
	if k.runs {
		k.answer, k.why = kubeletAnswer(ctx, configz)
	}
	return k, nil
}

func kubeletAnswer(ctx context.Context, configz func(context.Context) ([]byte, error)) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := configz(ctx)
	if err != nil {
		return nil, err
	}
	var says struct {
		Config map[string]any `json:"kubeletconfig"`
	}
	err = json.Unmarshal(body, &says)
	if err == nil && len(says.Config) == 0 {
		err = errors.New("the answer has no configuration")
	}
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet for its configuration: %w", err)
	}
	return says.Config, nil
}

// dropIns are fields with those of the files that the kubelet reads after its own.
func (m Machine) dropIns(fields map[string]any, dir string) (map[string]any, error) {
	if dir == "" {
		return fields, nil
	}
	names, err := filepath.Glob(m.Path(dir) + "/*.conf") // sorted, as the kubelet reads them
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		more, err := m.kubeletFields(path.Join(dir, filepath.Base(name)))
		if err != nil {
			return nil, err
		}
		fields = overlay.Merge(fields, more)
	}
	return fields, nil
}

func (m Machine) kubeletFields(path string) (map[string]any, error) {
	text, err := os.ReadFile(m.Path(path))
	if err != nil {
		return nil, host.IgnoreMissing(err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	return fields, nil
}

// readKubelet judges a field by what the kubelet runs with. Its file counts too:
// the next start reads it.
func (r reader) readKubelet(f *Finding) {
	k, path := r.kubelet, strings.Split(f.Name, ".")
	switch given := lookup(k.flags, path); {
	case !k.here:
		f.State = Elsewhere
		return
	case !k.runs:
		f.State, f.Found = Differs, "it does not run"
		return
	case given != nil:
		r.judge(f, given)
		return
	}
	next := lookup(k.file, path)
	nextState := r.stateOf(f.Control, next)
	if k.answer == nil {
		if f.unknown(k.why); nextState == Differs {
			f.State, f.Found = Differs, f.Found+"; "+k.says(next)
		}
		return
	}
	if r.judge(f, lookup(k.answer, path)); f.State != Differs && nextState == Differs {
		f.State, f.Found = Differs, f.Found+", but "+k.says(next)+" for its next start"
	}
}

// says names the file with what its next start has, drop-ins included.
func (k kubeletFound) says(next any) string {
	if k.dir != "" {
		return k.path + " with " + k.dir + " says " + shown(next)
	}
	return k.path + " says " + shown(next)
}

func shown(value any) string {
	if value == nil {
		return "nothing"
	}
	return text(value)
}
