package gpu

import (
	"errors"
	"fmt"
	"strings"
)

// agree is nil when the loaded driver is the wanted one, and the library is its own.
func (l loading) agree(d Driver) error {
	if d == (Driver{}) {
		return &Failure{What: "ask the loaded driver for its version", Err: errors.New("/" + driverFile + " is not there"), Next: "dmesg tells why the module nvidia found no card"}
	}
	libraries, err := l.libraries()
	if err != nil {
		return err
	}
	has := versions(libraries)
	switch {
	case len(has) == 1 && has[0] != d.Version && l.takes(has[0]):
		return &RebootError{Why: fmt.Sprintf("the loaded module of NVIDIA's driver is %s, what is installed is %s", d.Version, has[0])}
	case len(has) > 1, len(has) == 1 && has[0] != d.Version:
		return &Failure{What: "use NVIDIA's driver", Err: fmt.Errorf("two versions are mixed on this host: library %s, module %s", strings.Join(has, " and "), d.Version),
			Next: "leave one of them: rpm -qf " + libraries[0].path + " names a package, nvidia-uninstall removes what a .run file brought"}
	case len(has) == 0:
		return &Failure{What: "use NVIDIA's driver", Err: fmt.Errorf("the module %s is loaded, but its library libnvidia-ml.so is nowhere", d.Version), Next: "install the driver's user part of the same version: nvidia-driver-cuda"}
	}
	return l.wanted(d)
}

// takes reports whether a version is a wanted one. Where nothing is wanted, any is.
func (l loading) takes(version string) bool {
	if l.Version != "" {
		return version == l.Version
	}
	return l.Driver.Branch == 0 || Driver{Version: version}.Branch() == l.Driver.Branch
}

func (l loading) wanted(d Driver) error {
	if l.takes(d.Version) && (l.Driver.Flavour == "" || d.Open == (l.Driver.Flavour == Open)) {
		return nil
	}
	want := l.Driver.String()
	if l.Version != "" {
		want = Driver{l.Version, l.Driver.Flavour == Open}.String()
	}
	return &Failure{What: "use NVIDIA's driver", Err: fmt.Errorf("%s is loaded, %s is wanted", d, want),
		Next: "remove the other driver and reboot; or gpu.source: host in airgap.yaml, to take the one that is there"}
}
