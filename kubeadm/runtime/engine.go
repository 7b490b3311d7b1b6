package runtime

import (
	"context"
	"path"

	"airgap.dev/airgap/internal/host"
)

// engine is a container runtime from one of its sources: what is not the same for each
// of them.
type engine struct {
	name     string   // of its program, and of its unit
	title    string   // as its project writes it
	bin      string   // directory of its programs
	runc     string   // program that it has run containers
	conmon   string   // program that it has watch them; "" where it does so itself
	rpm      string   // package that brings it, "" where it comes as an archive
	socket   string   // of its Container Runtime Interface
	config   string   // that we write
	dropIns  string   // directory of the site's own settings, and of an accelerator's toolkit
	nvidia   string   // file in it that adds the handler for NVIDIA's runtime, where we write one
	driver   string   // file in it, read after all others, that sets the cgroup driver where another one has changed it
	unit     string   // that we write: the whole unit, or what the package's lacks
	unitText string   // what comes after ours in it
	programs []string // that its archive has to hold
	mirrors  string   // what its configuration has to name as the place that says where images come from; "" where it names none
	once     bool     // it reads that place at its start, and not at each pull
	env      string   // file with the environment of its unit, "" for none
	extra    []string // what else we write for it, in directories of ours

	files    func(Options) (map[string][]byte, error) // that we write beside the unit, by path
	dump     []string                                 // asks its program for the effective configuration
	readDump func([]byte) (effective, error)
	drives   func(effective, Driver) map[string]any // the settings for it; nil where no drop-in can
}

// engines are the runtimes that airgap installs.
func engines() []engine { return []engine{containerd(), crio(), containerdPackage(), crioPackage()} }

func (r Config) engine() engine {
	for _, e := range engines() {
		if e.name == r.Name && (e.rpm != "") == (r.Source == FromPackage) {
			return e
		}
	}
	return containerd()
}

// engineOn is the runtime that airgap has set up on this host; containerd where it has
// not yet. Both sources of a runtime may have the same configuration: the unit tells
// them apart.
func engineOn(m host.Machine) engine {
	for _, e := range engines() {
		if isOurs(m, e.unit) {
			return e
		}
	}
	for _, e := range engines() {
		if isOurs(m, e.config) {
			return e
		}
	}
	return containerd()
}

// program is the runtime itself.
func (e engine) program() string { return path.Join(e.bin, e.name) }

// setting is what airgap.yaml says to have it.
func (e engine) setting() string {
	source := FromArchive
	if e.rpm != "" {
		source = FromPackage
	}
	return "runtime: {name: " + e.name + ", source: " + source + "}"
}

// readOnce are the files for which it has to be restarted, beside those that we write
// with it. mirrors is the one that says where images come from.
func (e engine) readOnce(mirrors string) []string {
	if !e.once {
		return nil
	}
	return []string{mirrors, e.env}
}

// Endpoint is the URL of the runtime's socket.
func (r Config) Endpoint() string { return r.engine().endpoint() }

// Endpoint is the URL of the socket of the runtime on this host.
func Endpoint(m host.Machine) string { return engineOn(m).endpoint() }

// Start starts the runtime on this host. why, "which has to remove the pods", comes
// behind its name where it does not start.
func Start(ctx context.Context, m host.Machine, why string) error {
	e := engineOn(m)
	if err := m.Run(ctx, "systemctl", "start", e.name); err != nil {
		return Explain(ctx, m, host.Failure{What: "start " + e.title + ", " + why, Err: err, Unit: e.name})
	}
	return nil
}

func (e engine) endpoint() string { return "unix://" + e.socket }
