package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/process"
	"airgap.dev/airgap/kubeadm/runtime"
)

// State is the result of a Control on a host.
type State string

// Values of State.
const (
	Compliant State = "compliant" // the value is that of the baseline
	Chosen    State = "chosen"    // the value differs, and airgap.yaml sets it
	Differs   State = "differs"   // the value differs
	Unknown   State = "unknown"   // the value could not be read
	Elsewhere State = "elsewhere" // the Control does not apply to this host
)

// Finding is a Control with its effective value on a host.
type Finding struct {
	Control
	Found string `json:"found"`
	State State  `json:"state"`
}

// Compliance compares this host with the baseline. It reads the arguments of the running
// programs, the files in these arguments, the kubelet's effective configuration and the modes
// of files. configz returns the kubelet's answer at /configz.
func Compliance(ctx context.Context, m Machine, c Config, configz func(context.Context) ([]byte, error)) ([]Finding, error) {
	r := reader{m: m, site: c, plain: Config{Version: c.Version}, running: map[node.Part]process.Process{}}
	r.plain.Default("") // the baseline without the site's settings
	for _, part := range node.StaticPods() {
		p, err := node.StaticPod(m.Machine, part)
		if err != nil && !errors.Is(err, process.ErrNone) {
			return nil, err
		}
		r.running[part] = p
	}
	var err error
	if r.kubelet, err = m.askKubelet(ctx, configz); err != nil {
		return nil, err
	}
	var all []Finding
	for _, control := range Controls(r.plain) {
		f := Finding{Control: control}
		switch control.Part {
		case Files:
			if err := m.readFiles(&f); err != nil {
				return all, err
			}
		case node.Kubelet:
			r.readKubelet(&f)
		case Contents:
			r.readContents(&f)
		default:
			r.readFlag(&f)
		}
		all = append(all, f)
	}
	return all, nil
}

// reader has the data of one run of Compliance.
type reader struct {
	m           Machine
	site, plain Config
	running     map[node.Part]process.Process // Flags is nil for a program that does not run
	kubelet     kubeletFound
}

// readFlag compares an argument of a running program.
func (r reader) readFlag(f *Finding) {
	p, runs := r.program(f, f.Part)
	if !runs {
		return
	}
	switch value, set := p.Flags[f.Name]; {
	case f.Part == node.Scheduler && f.Name == "profiling" && p.Flags["config"] != "":
		f.unknown(errors.New("the file that --config names decides, not the argument"))
	case f.Name == "authorization-mode" && p.Flags["authorization-config"] != "":
		modes, err := r.authorizers(p)
		if err != nil {
			f.unknown(err)
			return
		}
		r.judge(f, modes)
	case set:
		r.judge(f, value)
	default:
		r.judge(f, nil)
	}
}

// program returns the process of a part, and whether it runs. If it does not run, it sets the
// State: Differs if this host should run it, Elsewhere if another host runs it.
func (r reader) program(f *Finding, part node.Part) (process.Process, bool) {
	p := r.running[part]
	if p.Flags != nil {
		return p, true
	}
	f.State = Elsewhere
	if _, err := os.Stat(r.m.Path(node.ManifestOf(part))); err == nil {
		f.State, f.Found = Differs, "it does not run"
	}
	return p, false
}

func (f *Finding) unknown(err error) { f.State, f.Found = Unknown, "cannot read: "+err.Error() }

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
		f.Found, f.State = file.String(), Compliant
	}
	return nil
}

// judge compares a value; nil is a value that is not set.
func (r reader) judge(f *Finding, value any) {
	f.Found, f.State = text(value), r.stateOf(f.Control, value)
	if value == nil {
		f.Found = "not set"
	}
}

func (r reader) stateOf(control Control, value any) State {
	switch {
	case control.holds(value):
		return Compliant
	case r.chosen(control, value):
		return Chosen
	}
	return Differs
}

func (c Control) holds(value any) bool {
	found, want := text(value), c.want()
	list := strings.Split(found, ",")
	switch c.Test {
	case Is:
		return value != nil && same(found, want)
	case Includes:
		return slices.Contains(list, want)
	case Lacks:
		return !slices.Contains(list, want)
	case Set:
		return found != ""
	case Unset:
		return found == ""
	case Default:
		return value == nil || same(found, want)
	}
	return false
}

// same compares values as a program parses them: 300s equals 5m0s.
func same(a, b string) bool {
	x, notX := time.ParseDuration(a)
	y, notY := time.ParseDuration(b)
	return a == b || notX == nil && notY == nil && x == y
}

// chosen reports whether airgap.yaml changes a Control of the baseline to this value.
func (r reader) chosen(control Control, value any) bool {
	if control.Name == "authentication-config" || banned(r.site, control, text(value)) {
		return false // an older airgap accepted insecure values
	}
	site, plain := r.site.decides(control), r.plain.decides(control)
	if text(site) == text(plain) && (site == nil) == (plain == nil) {
		return false
	}
	return (site == nil) == (value == nil) && same(text(site), text(value))
}

// decides is the value of a Control in a configuration; nil for none.
func (c Config) decides(control Control) any {
	if control.Part == node.Kubelet {
		return lookup(kubelet(c, runtime.Facts{}), strings.Split(control.Name, "."))
	}
	given := valuesOf(argumentsOf(cluster(c, Node{}), control.Part), control.Name)
	if len(given) == 0 {
		return nil
	}
	return strings.Join(given, ",")
}

func lookup(fields map[string]any, path []string) any {
	var value any = fields
	for _, name := range path {
		inner, _ := value.(map[string]any)
		value = inner[name]
	}
	return value
}

// Expected describes the expected value in words.
func (c Control) Expected() string {
	if mode, is := c.Want.(fs.FileMode); is {
		return fmt.Sprintf("at most %04o, owned by root", mode)
	}
	if c.Want == nil {
		return string(c.Test)
	}
	if c.Test == Is || c.Test == Says {
		return c.want()
	}
	return string(c.Test) + " " + c.want()
}
