package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"

	"sigs.k8s.io/yaml"
)

// State is how a Control stands on a host.
type State string

// What can be found.
const (
	Holds     State = "holds"
	Chosen    State = "chosen"    // airgap.yaml has it otherwise
	Differs   State = "differs"   // nobody said so
	Elsewhere State = "elsewhere" // nothing of this host's
)

// Finding is what a host effectively has of a Control.
type Finding struct {
	Control
	Found string `json:"found"`
	State State  `json:"state"`
}

// Compliance reads back what this host effectively has of the baseline:
// arguments from the processes that run, the kubelet's fields from the file it
// was started with, modes from the files.
func Compliance(m Machine, c Config) ([]Finding, error) {
	plain := Config{Version: c.Version} // what the baseline is without the site's choices
	plain.Default("")
	kubelet, err := m.kubeletFields()
	if err != nil {
		return nil, err
	}
	flags := map[Part]map[string]string{}
	for _, part := range []Part{APIServer, ControllerManager, Scheduler, Etcd} {
		if flags[part], err = m.flags(part); err != nil && !errors.Is(err, errNoProcess) {
			return nil, err
		}
	}
	var all []Finding
	for _, control := range Controls(plain) {
		f := Finding{Control: control}
		switch control.Part {
		case Files:
			if err := m.readFiles(&f); err != nil {
				return all, err
			}
		case Kubelet:
			f.judge(lookup(kubelet, strings.Split(control.Name, ".")), kubelet != nil)
		default:
			m.readFlag(&f, flags[control.Part])
		}
		if f.State != Elsewhere && c.chose(control, f.State) {
			f.State = Chosen
		}
		all = append(all, f)
	}
	return all, nil
}

func (m Machine) kubeletFields() (map[string]any, error) {
	text, err := os.ReadFile(m.path(kubeletConfig))
	if err != nil {
		return nil, host.IgnoreMissing(err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("read the kubelet's configuration: %w", err)
	}
	return fields, nil
}

// readFlag tells a program that should run from one that another host has.
func (m Machine) readFlag(f *Finding, flags map[string]string) {
	if flags == nil {
		f.State = Elsewhere
		if _, err := os.Stat(m.path(manifestOf(f.Part))); err == nil {
			f.State, f.Found = Differs, "it does not run"
		}
		return
	}
	value, set := flags[f.Name]
	if !set {
		f.judge(nil, true)
		return
	}
	f.judge(value, true)
}

func (m Machine) readFiles(f *Finding) error {
	files, err := m.matches(f.Control)
	if err != nil {
		return err
	}
	f.State = Elsewhere
	for _, file := range files {
		if !file.holds() {
			f.Found, f.State = file.String(), Differs
			return nil
		}
		f.Found, f.State = file.String(), Holds
	}
	return nil
}

// judge compares a value, nil for one that is not set.
func (f *Finding) judge(value any, here bool) {
	if !here {
		f.State = Elsewhere
		return
	}
	found, want := text(value), f.want()
	list := strings.Split(found, ",")
	holds := map[Test]bool{
		Is:       value != nil && found == want,
		Includes: slices.Contains(list, want),
		Lacks:    !slices.Contains(list, want),
		Set:      found != "",
		Unset:    found == "",
		Default:  value == nil || found == want,
	}[f.Test]
	f.Found, f.State = found, Differs
	if value == nil {
		f.Found = "not set"
	}
	if holds {
		f.State = Holds
	}
}

func lookup(fields map[string]any, path []string) any {
	value := fields[path[0]]
	if len(path) == 1 {
		return value
	}
	inner, _ := value.(map[string]any)
	return lookup(inner, path[1:])
}

// chose reports whether airgap.yaml decides a Control that the baseline alone
// would decide otherwise.
func (c Config) chose(control Control, s State) bool {
	if control.Setting == "kubernetes.audit.policy" && len(c.Audit.Policy) > 0 {
		return true // the file is where it should be, but not ours
	}
	if s == Holds {
		return false
	}
	switch {
	case control.Name == "authentication-config" && c.ownAuthentication():
		return true
	case control.Setting == "kubernetes.encryptionAtRest" && c.EncryptionAtRest == NoEncryption:
		return true
	case strings.HasPrefix(control.Setting, "kubernetes.audit."):
		return c.Audit.Log == NoAudit || slices.ContainsFunc(auditControls(c), func(own Control) bool {
			return own.Name == control.Name && own.want() != control.want()
		}) || len(valuesOf(c.extraArgs(APIServer), control.Name)) > 0
	case control.Part == Kubelet:
		return lookup(c.Overrides.Kubelet, strings.Split(control.Name, ".")) != nil
	}
	return len(valuesOf(c.extraArgs(control.Part), control.Name)) > 0
}

// Wanted says in words what a Control asks for.
func (c Control) Wanted() string {
	if mode, is := c.Want.(fs.FileMode); is {
		return fmt.Sprintf("at most %04o, root's", mode)
	}
	if c.Want == nil {
		return string(c.Test)
	}
	if c.Test == Is {
		return c.want()
	}
	return string(c.Test) + " " + c.want()
}
