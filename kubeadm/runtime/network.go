package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// movedFile has the names of the files that airgap or its network plugin has written to SharedCNIDir,
// before it had CNIDir.
const movedFile = host.StateDir + "/cni-moved.json"

// makeNetwork creates the runtime's network directory. All programs of the host may read it, also
// with a strict umask.
func makeNetwork(m host.Machine) error {
	dir := m.Path(host.CNIDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755))
}

// networkMoved refuses overrides with another network directory: the network plugins write to CNIDir.
func (r Config) networkMoved(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, setting := range [][]string{
		{"plugins", "io.containerd.cri.v1.runtime", "cni", "conf_dir"},
		{"plugins", "io.containerd.grpc.v1.cri", "cni", "conf_dir"},
		{"crio", "network", "network_dir"},
	} {
		table, last := r.Overrides, len(setting)-1
		for _, name := range setting[:last] {
			table, _ = table[name].(map[string]any)
		}
		if value, is := table[setting[last]]; is && value != host.CNIDir {
			errs = append(errs, field.Forbidden(at.Key(strings.Join(setting, ".")), "the network plugins write to "+host.CNIDir))
		}
	}
	return errs
}

// oldNetwork returns the names of the plugins' configurations that the runtime reads in SharedCNIDir:
// airgap has configured the runtime before it had CNIDir. On any other host such a file belongs to
// another program or to an earlier cluster.
func (s service) oldNetwork(e engine) ([]string, error) {
	config, err := os.ReadFile(s.m.Path(e.config))
	if err != nil {
		return nil, host.IgnoreMissing(err)
	}
	if text := string(config); !strings.HasPrefix(text, ours) || strings.Contains(text, host.CNIDir) {
		return nil, nil
	}
	var names []string
	for _, name := range s.options.Network {
		if path.Ext(name) != ".conflist" {
			continue // its .conflist names the other files by their path in SharedCNIDir
		}
		if exists(s.m, path.Join(host.SharedCNIDir, name)) {
			names = append(names, name)
		}
	}
	return names, nil
}

// inOwnDirectory reports whether CNIDir has the file: a new pod of the network plugin may have written it.
func (s service) inOwnDirectory(name string) bool { return exists(s.m, path.Join(host.CNIDir, name)) }

// keepNetwork copies the pod network's files to the directory that the runtime reads from now on, so
// that pods can start before the network plugin has written its file there: its pods change only at
// the end of an upgrade. It records first that the old files are airgap's.
func (s service) keepNetwork(e engine) error {
	if err := makeNetwork(s.m); err != nil {
		return fmt.Errorf("create the runtime's network directory: %w", err)
	}
	names, err := s.oldNetwork(e)
	if err != nil || len(names) == 0 {
		return err
	}
	if err := host.WriteJSON(s.m.Path(movedFile), s.options.Network); err != nil {
		return err
	}
	for _, name := range slices.DeleteFunc(names, s.inOwnDirectory) {
		text, err := os.ReadFile(s.m.Path(path.Join(host.SharedCNIDir, name)))
		if err != nil {
			return err
		}
		if err := host.WriteFile(s.m.Path(path.Join(host.CNIDir, name)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// NetworkMovedStep removes the files that ServiceStep has copied from SharedCNIDir. It keeps them as
// long as a file in CNIDir names one of them: Calico's names a kubeconfig that its pods renew, until
// they write both files to CNIDir. Then the next command that runs the steps of a node removes them.
func NetworkMovedStep(m host.Machine) step.Step {
	return step.Step{
		Name: "cni-moved", Title: "Remove the pod network's files from " + host.SharedCNIDir,
		Done: func(context.Context) (bool, error) {
			old, err := movedNetwork(m)
			return len(old) == 0, err
		},
		Plan: func(context.Context) ([]string, error) {
			old, err := movedNetwork(m)
			for i, name := range old {
				old[i] = "remove " + name
			}
			return old, err
		},
		Run: func(context.Context) error {
			old, err := movedNetwork(m)
			for _, name := range old {
				err = errors.Join(err, host.Remove(m.Path(name)))
			}
			if err != nil || len(old) == 0 {
				return err
			}
			return host.Remove(m.Path(movedFile))
		},
	}
}

// movedNetwork returns the paths of the files in SharedCNIDir that the pod network no longer needs.
func movedNetwork(m host.Machine) ([]string, error) {
	names, err := host.ReadJSON[[]string](m.Path(movedFile))
	if err != nil {
		return nil, err
	}
	var old []string
	for _, name := range names {
		text, err := os.ReadFile(m.Path(path.Join(host.CNIDir, name)))
		if host.IgnoreMissing(err) != nil {
			return nil, err
		}
		if strings.Contains(string(text), host.SharedCNIDir+"/") {
			return nil, nil
		}
		if name = path.Join(host.SharedCNIDir, name); exists(m, name) {
			old = append(old, name)
		}
	}
	return old, nil
}

func exists(m host.Machine, name string) bool {
	_, err := os.Lstat(m.Path(name))
	return err == nil
}
