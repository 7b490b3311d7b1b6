package nextboot

import (
	"io/fs"
	"strings"
)

const hostnameFile = "etc/hostname"

// Hostname is the host name that a file sets at boot.
type Hostname struct {
	Name  string `yaml:"name,omitempty" json:"name,omitempty"` // "" if another program decides, such as a DHCP client
	Place `yaml:",inline"`
}

// ReadHostname reads /etc/hostname as systemd does: the first line that is no comment. systemd and
// NetworkManager take "localhost" for no name.
func ReadHostname(fsys fs.FS) (Hostname, error) {
	s, err := read(fsys, hostnameFile)
	for i, line := range s.lines {
		name := strings.TrimSuffix(strings.TrimSpace(line), ".")
		if comment(line) {
			continue
		}
		if name == "localhost" || strings.HasPrefix(name, "localhost.") || len(name) > 253 {
			break
		}
		return Hostname{name, s.at(i)}, err
	}
	return Hostname{}, err
}
