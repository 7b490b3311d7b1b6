package facts

import (
	"context"
	"errors"
	"strings"
	"syscall"
)

// KernelFeatures are features of the running kernel. Options of its configuration do not show all of them: boot arguments
// and mounts switch some off.
type KernelFeatures struct {
	NFTables       bool `yaml:"nftables" json:"nftables"`
	Overlayfs      bool `yaml:"overlayfs" json:"overlayfs"`
	UserNamespaces bool `yaml:"userNamespaces" json:"userNamespaces"`
	BTF            bool `yaml:"btf" json:"btf"`               // types of the kernel for BPF programs
	MemoryHigh     bool `yaml:"memoryHigh" json:"memoryHigh"` // limit of memory that slows a cgroup down, only in cgroup v2
	PSI            bool `yaml:"psi" json:"psi"`               // pressure on CPU, memory and disks; EL needs psi=1 on the kernel's command line
}

// Missing lists the features that the kernel does not have, by the names that its documentation uses.
func (f KernelFeatures) Missing() []string {
	var missing []string
	for _, one := range []struct {
		name string
		has  bool
	}{
		{"nftables", f.NFTables}, {"overlayfs", f.Overlayfs}, {"user namespaces", f.UserNamespaces},
		{"BTF", f.BTF}, {"memory.high", f.MemoryHigh}, {"PSI", f.PSI},
	} {
		if !one.has {
			missing = append(missing, one.name)
		}
	}
	return missing
}

func readKernelFeatures(_ context.Context, r reader, f *Facts) error {
	config, err := r.kernelConfig()
	if err != nil {
		return err
	}
	most, err := r.optional("proc/sys/" + strings.ReplaceAll(UserNamespacesParameter, ".", "/"))
	if err != nil {
		return err
	}
	high, err := r.among(memoryHigh())
	if err != nil {
		return err
	}
	psi, err := r.pressure()
	f.KernelFeatures = KernelFeatures{
		NFTables: config["NF_TABLES"] != "", Overlayfs: config["OVERLAY_FS"] != "", UserNamespaces: config["USER_NS"] != "" && most != "" && most != "0",
		BTF: r.exists("sys/kernel/btf/vmlinux"), MemoryHigh: len(high) > 0, PSI: psi,
	}
	return err
}

// memoryHigh are files of which cgroup v2 has one on every host with systemd. The root cgroup has none.
func memoryHigh() []string {
	return []string{"sys/fs/cgroup/init.scope/memory.high", "sys/fs/cgroup/system.slice/memory.high"}
}

// pressure reports whether the kernel measures pressure. A kernel with psi=0 has the file, and cannot read it.
func (r reader) pressure() (bool, error) {
	text, err := r.optional("proc/pressure/memory")
	if errors.Is(err, syscall.EOPNOTSUPP) {
		return false, nil
	}
	return text != "", err
}
