package runtime

import (
	"context"
	"path"

	"airgap.dev/airgap/internal/host"
)

// engine has the properties of a container runtime from one of its sources.
type engine struct {
	name     string   // name of its program and its unit
	title    string   // its name in texts, as its project writes it
	bin      string   // directory of its programs
	runc     string   // program that runs containers
	conmon   string   // program that monitors containers; "" if the runtime itself does
	rpm      string   // name of its package; "" for an archive
	socket   string   // socket of its CRI
	config   string   // configuration file that airgap writes
	dropIns  string   // directory with drop-ins of the site and of a GPU toolkit
	nvidia   string   // airgap's drop-in with the handler for NVIDIA's runtime
	driver   string   // airgap's drop-in, read last, that sets the cgroup driver if another drop-in has changed it
	unit     string   // unit file that airgap writes, or a drop-in for the package's unit
	unitText string   // content of that file after the first line (ours)
	programs []string // programs that its archive must contain
	mirrors  string   // mirror directory that its configuration must name; "" if the path is fixed
	once     bool     // it reads the mirrors at its start instead of at each pull
	env      string   // file with the environment of its unit; "" for none
	extra    []string // other files that airgap writes, in airgap's directories

	files    func(Options) (map[string][]byte, error) // files by path that airgap writes in addition to the unit
	dump     []string                                 // arguments with which its program prints the effective configuration
	readDump func([]byte) (effective, error)
	drives   func(effective, Driver) map[string]any // settings of a cgroup driver; nil if no drop-in can set it
}

// engines returns the runtimes that airgap installs.
func engines() []engine { return []engine{containerd(), crio(), containerdPackage(), crioPackage()} }

func (r Config) engine() engine {
	for _, e := range engines() {
		if e.name == r.Name && (e.rpm != "") == (r.Source == FromPackage) {
			return e
		}
	}
	return containerd()
}

// engineOn returns the runtime that airgap has installed on this host, or containerd before the
// installation. Both sources of a runtime may have the same configuration file, so it checks the
// unit first.
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

// program returns the path of the runtime's program.
func (e engine) program() string { return path.Join(e.bin, e.name) }

// setting returns the line of airgap.yaml that selects this runtime.
func (e engine) setting() string {
	source := FromArchive
	if e.rpm != "" {
		source = FromPackage
	}
	return "runtime: {name: " + e.name + ", source: " + source + "}"
}

// readOnce returns the files that the runtime reads only at its start, in addition to its
// configuration. mirrors is the path of the file with the registry mirrors.
func (e engine) readOnce(mirrors string) []string {
	if !e.once {
		return nil
	}
	return []string{mirrors, e.env}
}

// Endpoint returns the URL of the runtime's socket.
func (r Config) Endpoint() string { return r.engine().endpoint() }

// Endpoint returns the URL of the socket of the runtime on this host.
func Endpoint(m host.Machine) string { return engineOn(m).endpoint() }

// Start starts the runtime on this host. why is a part of the error message after the runtime's
// name: "which must remove the pods".
func Start(ctx context.Context, m host.Machine, why string) error {
	e := engineOn(m)
	if err := m.Run(ctx, "systemctl", "start", e.name); err != nil {
		return Explain(ctx, m, host.Failure{What: "start " + e.title + ", " + why, Err: err, Unit: e.name})
	}
	return nil
}

func (e engine) endpoint() string { return "unix://" + e.socket }
