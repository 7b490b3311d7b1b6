package kubeadm

// engine is a container runtime: what is not the same for each of them.
type engine struct {
	name     string   // of its program in BinDir, and of its unit
	title    string   // as its project writes it
	socket   string   // of its Container Runtime Interface
	config   string   // that we write
	dropIns  string   // directory of the site's own settings, and of an accelerator's toolkit
	unit     string   // that we write
	unitText string   // what comes after ours in it
	programs []string // that its release has to hold
	mirrors  string   // what its configuration has to name as the place that says where images come from; "" where it names none
	reads    []string // files that say where images come from, beside RuntimeOptions.Mirrors, and that it reads at its start only; nil: all at each pull
	extra    []string // what else we write for it, in directories of ours

	files    func(RuntimeOptions) (map[string][]byte, error) // that we write beside the unit, by path
	dump     []string                                        // asks its program for the effective configuration
	readDump func([]byte) (effective, error)
}

// engines are the runtimes that airgap installs.
func engines() []engine { return []engine{containerd(), crio()} }

func (r Runtime) engine() engine {
	if r.CRIO() {
		return crio()
	}
	return containerd()
}

// engine is the runtime that airgap has set up on this host; containerd where it has
// not yet.
func (m Machine) engine() engine {
	for _, e := range engines() {
		if m.ours(e.unit) || m.ours(e.config) {
			return e
		}
	}
	return containerd()
}

func (e engine) endpoint() string { return "unix://" + e.socket }
