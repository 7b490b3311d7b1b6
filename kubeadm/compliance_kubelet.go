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

// kubeletFound is the state of this host's kubelet.
type kubeletFound struct {
	here   bool           // the host has a kubelet
	runs   bool           // the kubelet runs
	flags  map[string]any // fields from its arguments, which take precedence over its file
	answer map[string]any // its answer at /configz; nil after an error
	why    error          // the error of the request
	path   string         // its configuration file
	dir    string         // directory of its drop-ins; "" for none
	file   map[string]any // fields from path and dir
}

// kubeletFlags maps arguments to the fields that they override.
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
	var answer struct {
		Config map[string]any `json:"kubeletconfig"`
	}
	err = json.Unmarshal(body, &answer)
	if err == nil && len(answer.Config) == 0 {
		err = errors.New("the answer contains no configuration")
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's /configz: %w", err)
	}
	return answer.Config, nil
}

// dropIns merges the fields of the kubelet's drop-ins in dir into fields.
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

// readKubelet compares the effective value of a field. It also compares the kubelet's file,
// which takes effect at the next start.
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
			f.State, f.Found = Differs, f.Found+"; "+k.describe(next)
		}
		return
	}
	if r.judge(f, lookup(k.answer, path)); f.State != Differs && nextState == Differs {
		f.State, f.Found = Differs, f.Found+", but "+k.describe(next)+" for its next start"
	}
}

// describe names the file, with its drop-ins, and the value for the next start.
func (k kubeletFound) describe(next any) string {
	if k.dir != "" {
		return k.path + " with " + k.dir + " has " + shown(next)
	}
	return k.path + " has " + shown(next)
}

func shown(value any) string {
	if value == nil {
		return "no value"
	}
	return text(value)
}
