package nextboot

import (
	"io/fs"
	"strings"
)

const selinuxConfig = "etc/selinux/config"

// SELinux is the configuration of SELinux for the next boot.
type SELinux struct {
	// Mode is "enforcing", "permissive" or "disabled"; "unset" if the file has no valid mode.
	// Without the file SELinux loads no policy: "disabled". It is "" if it was not read.
	Mode     string `yaml:"mode,omitempty" json:"mode,omitempty"`
	ModeLine int    `yaml:"modeLine,omitempty" json:"modeLine,omitempty"`
	Type     string `yaml:"type,omitempty" json:"type,omitempty"` // of the policy: "targeted"
	TypeLine int    `yaml:"typeLine,omitempty" json:"typeLine,omitempty"`
	Relabel  bool   `yaml:"relabel,omitempty" json:"relabel,omitempty"` // /.autorelabel exists
}

// ReadSELinux reads /etc/selinux/config as libselinux does: the first line with a valid mode
// counts, and the last line with a type. The rest of a line is ignored.
func ReadSELinux(fsys fs.FS) (SELinux, error) {
	found := SELinux{Mode: "disabled"}
	is, err := exists(fsys, selinuxConfig)
	if err != nil || !is {
		return found, err
	}
	s, err := read(fsys, selinuxConfig)
	if err != nil {
		return found, err
	}
	found.Mode = "unset"
	for i, line := range s.lines {
		if value, is := strings.CutPrefix(line, "SELINUX="); is && found.ModeLine == 0 {
			for _, mode := range []string{"enforcing", "permissive", "disabled"} {
				if strings.HasPrefix(strings.ToLower(strings.TrimSpace(value)), mode) {
					found.Mode, found.ModeLine = mode, i+1
				}
			}
		}
		if value, is := strings.CutPrefix(strings.TrimSpace(line), "SELINUXTYPE="); is {
			if words := strings.Fields(value); len(words) > 0 {
				found.Type, found.TypeLine = words[0], i+1
			}
		}
	}
	found.Relabel, err = exists(fsys, ".autorelabel")
	return found, err
}

// Next is the mode of the next boot with a kernel command line, and its source. The command line
// overrides the file, except for a mode "disabled".
func (s SELinux) Next(cmdline, entry string) (mode, from string) {
	config := Place{"/" + selinuxConfig, s.ModeLine}.String()
	if p := Last(cmdline, "selinux"); p.Value == "0" {
		return "disabled", p.Text + " in " + entry
	}
	if p := Last(cmdline, "security", "lsm"); p.Name != "" && !strings.Contains(","+p.Value+",", ",selinux,") {
		return "disabled", p.Text + " in " + entry
	}
	if s.Mode == "disabled" {
		return s.Mode, config
	}
	switch p := Last(cmdline, "enforcing"); p.Value {
	case "0":
		return "permissive", p.Text + " in " + entry
	case "1":
		return "enforcing", p.Text + " in " + entry
	}
	return s.Mode, config
}
