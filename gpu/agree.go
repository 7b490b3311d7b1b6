package gpu

import (
	"errors"
	"fmt"
	"strings"
)

// agree returns nil if the loaded driver is the required one and its library has the same version.
func (l loading) agree(d Driver) error {
	if d == (Driver{}) {
		return &Failure{What: "read the version of the loaded driver", Err: errors.New("/" + driverFile + " does not exist"), Next: "read dmesg: it shows why the module nvidia found no GPU"}
	}
	libraries, err := l.libraries()
	if err != nil {
		return err
	}
	has := versions(libraries)
	switch {
	case len(has) == 1 && has[0] != d.Version && l.takes(has[0]):
		return &RebootError{Why: fmt.Sprintf("the loaded module of NVIDIA's driver is %s, but %s is installed", d.Version, has[0])}
	case len(has) > 1, len(has) == 1 && has[0] != d.Version:
		return &Failure{What: "use NVIDIA's driver", Err: fmt.Errorf("this host has two versions: library %s, module %s", strings.Join(has, " and "), d.Version),
			Next: "remove one of them: find a package with rpm -qf " + libraries[0].path + ", or run nvidia-uninstall for a .run file"}
	case len(has) == 0:
		return &Failure{What: "use NVIDIA's driver", Err: fmt.Errorf("the module %s is loaded, but its library libnvidia-ml.so does not exist", d.Version), Next: "install the driver's libraries of the same version: nvidia-driver-cuda"}
	}
	return l.wanted(d)
}

// takes reports whether a version is accepted. Without a required version or branch, any version is.
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
	return &Failure{What: "use NVIDIA's driver", Err: fmt.Errorf("%s is loaded, but %s is required", d, want),
		Next: "remove the other driver and reboot, or set gpu.source: host in airgap.yaml to use it"}
}
