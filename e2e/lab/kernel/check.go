package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check returns an error with all features of the kernel that the lab needs and that are
// missing, and a fix for each.
func (m Machine) Check() error {
	missing := slices.Concat(m.missingCgroups(), m.missingOptions())
	if len(missing) == 0 {
		return nil
	}
	return errors.New("the lab's servers run on this machine's kernel, " + m.Release + ". These parts are missing (e2e/lab/README.md, \"What it needs\"):\n- " + strings.Join(missing, "\n- "))
}

// missingOptions returns a message for each option that is not built in and not loadable.
func (m Machine) missingOptions() []string {
	config, err := m.Config()
	if err != nil {
		return []string{"its configuration, not found at /" + strings.Join(m.configFiles(), ", /") + ": install the package of the running kernel, which has it in /boot, or boot a kernel with CONFIG_IKCONFIG_PROC"}
	}
	values, loadable := config.values(), m.loadable()
	var missing []string
	for _, o := range options() {
		if !o.needed {
			continue
		}
		if values[o.symbol] == "m" {
			missing = append(missing, m.missingModules(o, loadable)...)
		} else if values[o.symbol] != "y" {
			missing = append(missing, notBuilt(o.symbol))
		}
	}
	for _, symbol := range parts() {
		if values[symbol] != "y" && values[symbol] != "m" {
			missing = append(missing, notBuilt(symbol))
		}
	}
	return missing
}

func (m Machine) missingModules(o option, loadable map[string]bool) []string {
	var missing []string
	for _, file := range o.files {
		if name := moduleName(file); !m.loaded(name) && !loadable[name] {
			missing = append(missing, fmt.Sprintf("the module %s, not loaded and not in /lib/modules/%s: install the package of the running kernel, or reboot after an update of it; then modprobe %s", name, m.Release, name))
		}
	}
	return missing
}

func notBuilt(symbol string) string {
	return "CONFIG_" + symbol + ": boot a kernel with this option, for example Debian's own"
}
