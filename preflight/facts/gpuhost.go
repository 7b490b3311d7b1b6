package facts

import "regexp"

// loadedVersion is the number in /proc/driver/nvidia/version, "580.82.07".
var loadedVersion = regexp.MustCompile(`\s(\d{3}\.\d+(?:\.\d+)?)\s`)

// DriverVersion is the version of the loaded NVIDIA driver: "580.82.07"; "" for none.
func (f *Facts) DriverVersion() string {
	if m := loadedVersion.FindStringSubmatch(f.Driver + " "); m != nil {
		return m[1]
	}
	return ""
}

// Userspace is the package version of NVIDIA's libraries; "" without a package.
func (f *Facts) Userspace() string {
	for _, name := range []string{"nvidia-driver-cuda-libs", "nvidia-driver-libs", "libnvidia-ml", "nvidia-driver-cuda"} {
		if p := f.Installed(name); p != nil {
			return p.Version
		}
	}
	return ""
}
