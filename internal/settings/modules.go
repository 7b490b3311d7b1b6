package settings

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const modulesFile = "/etc/modules-load.d/airgap.conf"

// kernelModule is one part of the kernel that a node needs, with the option
// that builds it and, if it has one, a path that exists while it runs.
type kernelModule struct{ name, option, trace string }

func kernelModules(network map[string]string) []kernelModule {
	needed := []kernelModule{
		{"overlay", "CONFIG_OVERLAY_FS", ""},
		{"br_netfilter", "CONFIG_BRIDGE_NETFILTER", "proc/sys/net/bridge/bridge-nf-call-iptables"},
		{"nf_conntrack", "CONFIG_NF_CONNTRACK", "proc/sys/net/netfilter/nf_conntrack_max"},
	}
	for _, name := range slices.Sorted(maps.Keys(network)) {
		needed = append(needed, kernelModule{name, "CONFIG_" + network[name], ""})
	}
	return needed
}

// LoadedAtBoot are the modules in the file of Modules; network as there.
func LoadedAtBoot(network map[string]string) []string {
	var names []string
	for _, k := range kernelModules(network) {
		names = append(names, k.name)
	}
	return names
}

// Modules loads the kernel modules of a node, now and at every boot; network has the modules of
// the pod network, by name, with the kernel option that builds each. Modules built into the kernel count as
// loaded.
func Modules(m host.Machine, network map[string]string) step.Step {
	needed := kernelModules(network)
	var text bytes.Buffer
	for _, k := range needed {
		fmt.Fprintln(&text, k.name)
	}
	return step.Step{
		Name: "modules", Title: "Load kernel modules",
		Done: func(context.Context) (bool, error) {
			holds, err := host.FileMatches(m.Path(modulesFile), text.Bytes(), 0o644)
			return holds && missingModule(m, needed) == "", err
		},
		Plan: func(context.Context) ([]string, error) { return planModules(m, needed, text.Bytes()) },
		Run: func(ctx context.Context) error {
			if err := loadModules(ctx, m, needed); err != nil {
				return err
			}
			return host.WriteFile(m.Path(modulesFile), text.Bytes(), 0o644)
		},
		// Loaded modules stay: others may use them by now, and the next boot
		// comes without them.
		Undo: func(context.Context) error { return host.Remove(m.Path(modulesFile)) },
	}
}

func missingModule(m host.Machine, needed []kernelModule) string {
	for _, k := range needed {
		if !present(m, k) {
			return k.name
		}
	}
	return ""
}

func loadModules(ctx context.Context, m host.Machine, needed []kernelModule) error {
	for _, k := range needed {
		if present(m, k) {
			continue
		}
		if err := m.Run(ctx, "modprobe", k.name); err != nil {
			return &host.Failure{What: "load kernel module " + k.name, Err: err,
				Next: "install kernel-modules-extra for the running kernel (uname -r)"}
		}
	}
	return nil
}

// present asks four witnesses, since no single one knows of every module that
// is loaded or built in: /sys/module, the module's own trace, modules.builtin,
// and the kernel's configuration.
func present(m host.Machine, k kernelModule) bool {
	fsys := m.Host.FS()
	exists := func(name string) bool { _, err := fs.Stat(fsys, name); return err == nil }
	if exists("sys/module/"+k.name) || k.trace != "" && exists(k.trace) {
		return true
	}
	release, err := fs.ReadFile(fsys, "proc/sys/kernel/osrelease")
	if err != nil {
		return false
	}
	running := strings.TrimSpace(string(release))
	builtin, _ := fs.ReadFile(fsys, "lib/modules/"+running+"/modules.builtin")
	if bytes.Contains(builtin, []byte("/"+k.name+".ko")) {
		return true
	}
	return bytes.Contains(kernelConfig(fsys, running), []byte(k.option+"=y\n"))
}

func kernelConfig(fsys fs.FS, running string) []byte {
	if config, err := fs.ReadFile(fsys, "boot/config-"+running); err == nil {
		return config
	}
	zipped, err := fs.ReadFile(fsys, "proc/config.gz")
	if err != nil {
		return nil
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil
	}
	config, _ := io.ReadAll(r) // a cut file has fewer options, and that is all
	return config
}

func planModules(m host.Machine, needed []kernelModule, text []byte) ([]string, error) {
	var changes []string
	for _, k := range needed {
		if !present(m, k) {
			changes = append(changes, "load kernel module "+k.name)
		}
	}
	file, err := host.PlanFiles(map[string][]byte{m.Path(modulesFile): text}, 0o644)
	return append(changes, file...), err
}
