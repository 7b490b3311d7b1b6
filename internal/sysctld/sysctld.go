// Package sysctld computes the kernel parameters of the next boot from the files of a host.
//
// In flows the root file system, out flows the last setting of a parameter, with its file and line.
// Three programs set parameters at boot, in this order:
//
//   - the kernel, from sysctl.NAME=VALUE on its next command line, from Linux 5.8 on;
//   - systemd-sysctl, from the directories in directories(). It does not read /etc/sysctl.conf.
//     Enterprise Linux has the link /etc/sysctl.d/99-sysctl.conf to it, which may be missing;
//   - tuned, from the section [sysctl] of its profile. It then applies /run/sysctl.d, /etc/sysctl.d
//     and /etc/sysctl.conf again, in its own way, unless reapply_sysctl is 0.
//
// Sources: sysctl.d(5), systemd-sysctl.service(8), tuned-main.conf(5), the kernel's documentation of
// its parameters, and the behavior of systemd 239, 252 and 257.
package sysctld

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Setting is a line that sets a kernel parameter.
type Setting struct {
	Key   string // as systemd writes it: "net.ipv4.conf.*.forwarding"
	Value string
	File  string // "/etc/sysctl.d/60-cis.conf"
	Line  int    // from 1 on; 0 for the kernel command line
}

// At is the place of a setting: "/etc/sysctl.d/60-cis.conf:3".
func (s Setting) At() string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// Glob reports whether the setting is for several parameters.
func (s Setting) Glob() bool { return isGlob(s.Key) }

// Boot has the settings that apply at the next boot.
type Boot struct {
	early   []write         // of the kernel command line
	options []write         // of systemd-sysctl, in the order in which it sets them
	named   map[string]bool // parameters with a separate line, which globs do not set
	late    []write         // of tuned
}

// write is a setting with the path of its parameter below /proc/sys.
type write struct {
	Setting
	path string
	glob bool
}

const commandLine = "proc/cmdline"

// Read reads the settings of a host. A file that does not exist has no settings; a file that cannot
// be read is an error.
func Read(fsys fs.FS) (*Boot, error) {
	b := &Boot{named: map[string]bool{}}
	s := &source{fs: fsys}
	if err := b.readCommandLine(s); err != nil {
		return nil, err
	}
	if err := b.readFiles(s); err != nil {
		return nil, err
	}
	return b, b.readTuned(s)
}

const (
	maxFile = 1 << 20
	maxAll  = 8 << 20
)

// source reads files of a host, and limits their size.
type source struct {
	fs   fs.FS
	read int64
}

// text returns the content of a regular file; "" if it does not exist or is something else, such as
// a link to /dev/null.
func (s *source) text(name string) (string, error) {
	info, err := fs.Stat(s.fs, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if s.read += info.Size(); info.Size() > maxFile || s.read > maxAll {
		return "", fmt.Errorf("read /%s: the files with kernel parameters are too large (%d bytes)", name, info.Size())
	}
	text, err := fs.ReadFile(s.fs, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// names returns the names of a directory's entries that are not directories; nil if the directory
// does not exist.
func (s *source) names(dir string) ([]string, error) {
	entries, err := fs.ReadDir(s.fs, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Path is the path of a parameter below /proc/sys. If the first separator of the name is a dot, dots
// and slashes are interchanged: net.ipv4.conf.bond0/100.forwarding has the interface bond0.100.
func Path(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' {
		name = interchanged(name)
	}
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

// Name is the name of a parameter with dots, from its path.
func Name(path string) string { return interchanged(path) }

func interchanged(name string) string { return strings.NewReplacer(".", "/", "/", ".").Replace(name) }

func isGlob(key string) bool { return strings.ContainsAny(key, "*?[") }

const (
	ipForward      = "net/ipv4/ip_forward"
	allForwarding  = "net/ipv4/conf/all/forwarding"
	everyLater     = "net/ipv4/conf/default/forwarding"
	conntrackMax   = "net/netfilter/nf_conntrack_max"
	conntrackAlias = "net/nf_conntrack_max"
)

// aliases are the paths of the same parameter.
func aliases(of string) []string {
	switch of {
	case ipForward, allForwarding:
		return []string{ipForward, allForwarding}
	case conntrackMax, conntrackAlias:
		return []string{conntrackMax, conntrackAlias}
	}
	return []string{of}
}
