package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check says what the lab needs and this machine's kernel has not, a sentence for
// each with what to do about it.
func (m Machine) Check() error {
	lacking := slices.Concat(m.lackingCgroups(), m.lackingOptions())
	if len(lacking) == 0 {
		return nil
	}
	return errors.New("the lab's servers run under this machine's kernel, " + m.Release + ", which lacks (e2e/lab/README.md, \"What it needs\"):\n- " + strings.Join(lacking, "\n- "))
}

// lackingOptions says what is neither built in nor can be loaded.
func (m Machine) lackingOptions() []string {
	config, err := m.Config()
	if err != nil {
		return []string{"its configuration, which is in none of /" + strings.Join(m.configFiles(), ", /") + ": install the package of the running kernel, which has it in /boot, or boot a kernel with CONFIG_IKCONFIG_PROC"}
	}
	values, loadable := config.values(), m.loadable()
	var lacking []string
	for _, o := range options() {
		if !o.needed {
			continue
		}
		if values[o.symbol] == "m" {
			lacking = append(lacking, m.lackingModules(o, loadable)...)
		} else if values[o.symbol] != "y" {
			lacking = append(lacking, notBuilt(o.symbol))
		}
	}
	for _, symbol := range parts() {
		if values[symbol] != "y" && values[symbol] != "m" {
			lacking = append(lacking, notBuilt(symbol))
		}
	}
	return lacking
}

func (m Machine) lackingModules(o option, loadable map[string]bool) []string {
	var lacking []string
	for _, file := range o.files {
		if name := moduleName(file); !m.loaded(name) && !loadable[name] {
			lacking = append(lacking, fmt.Sprintf("the module %s, neither loaded nor in /lib/modules/%s: install the package of the running kernel, or reboot where it was just updated; then modprobe %s", name, m.Release, name))
		}
	}
	return lacking
}

func notBuilt(symbol string) string {
	return "CONFIG_" + symbol + ": boot a kernel that is built with it, as Debian's own is"
}
