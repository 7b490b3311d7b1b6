// Package nevra is the name of one build of an RPM: name, epoch, version, release, architecture.
//
// It is parsed where text comes from outside, from rpm, dnf, repositories and files, and written
// where text is needed; in between it is a value.
package nevra

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// EVR is the version of a package: epoch, version and release. An empty
// release matches any.
type EVR struct {
	Epoch   int    `json:"epoch,omitempty" yaml:"epoch,omitempty"`
	Version string `json:"version,omitempty" yaml:"version,omitempty"`
	Release string `json:"release,omitempty" yaml:"release,omitempty"`
}

// Compare is negative when v is older than w, positive when it is newer. When
// either has no release, releases are not compared, as in requirements.
func (v EVR) Compare(w EVR) int {
	if v.Epoch != w.Epoch {
		return v.Epoch - w.Epoch
	}
	if c := compareWords(v.Version, w.Version); c != 0 {
		return c
	}
	if v.Release == "" || w.Release == "" {
		return 0
	}
	return compareWords(v.Release, w.Release)
}

// String is [EPOCH:]VERSION[-RELEASE], as people write it. A version with a colon needs its epoch.
func (v EVR) String() string {
	s := v.Version
	if v.Epoch != 0 || strings.Contains(v.Version, ":") {
		s = strconv.Itoa(v.Epoch) + ":" + s
	}
	if v.Release != "" {
		s += "-" + v.Release
	}
	return s
}

// NEVRA names one build of one package.
type NEVRA struct {
	Name string `json:"name" yaml:"name"`
	EVR  `yaml:",inline"`
	Arch string `json:"arch" yaml:"arch"`
}

// String is name-epoch:version-release.arch with the epoch always written:
// the form of the lock, which dnf and rpm both take.
func (n NEVRA) String() string {
	return fmt.Sprintf("%s-%d:%s-%s.%s", n.Name, n.Epoch, n.Version, n.Release, n.Arch)
}

// People is a package as people write it: a profile knows no versions.
func (n NEVRA) People() string {
	if n.Version == "" {
		return n.Name
	}
	return n.Name + "-" + n.EVR.String() + "." + n.Arch
}

// WithoutEpoch is name-version-release.arch: not every rpm takes an epoch.
func (n NEVRA) WithoutEpoch() string { return n.Name + "-" + n.Kernel() }

// FileName is the customary name of the package's file.
func (n NEVRA) FileName() string { return n.WithoutEpoch() + ".rpm" }

// Kernel is the kernel, as uname -r has it, of a package that is a part of one or built with one.
func (n NEVRA) Kernel() string { return n.Version + "-" + n.Release + "." + n.Arch }

// ReplacedBy reports whether p is another build of the same package.
func (n NEVRA) ReplacedBy(p NEVRA) bool { return p.Name == n.Name && p.Arch == n.Arch && p != n }

// Parse reads name-[epoch:]version-release.arch.
func Parse(s string) (NEVRA, error) {
	dot := strings.LastIndexByte(s, '.')
	release := strings.LastIndexByte(s[:max(dot, 0)], '-')
	ver := strings.LastIndexByte(s[:max(release, 0)], '-')
	if ver <= 0 {
		return NEVRA{}, fmt.Errorf("read package name %q: expected name-epoch:version-release.arch", s)
	}
	evr, err := ParseEVR(s[ver+1 : dot])
	n := NEVRA{Name: s[:ver], EVR: evr, Arch: s[dot+1:]}
	if err != nil || !n.Valid() {
		return NEVRA{}, fmt.Errorf("read package name %q: expected name-epoch:version-release.arch", s)
	}
	return n, nil
}

// ParseEVR reads [epoch:]version[-release].
func ParseEVR(s string) (EVR, error) {
	epoch, rest, found := strings.Cut(s, ":")
	if !found {
		epoch, rest = "0", s
	}
	version, release, _ := strings.Cut(rest, "-")
	if version == "" || epoch == "" {
		return EVR{}, fmt.Errorf("read version %q: expected [EPOCH:]VERSION[-RELEASE]", s)
	}
	return EVROf(epoch, version, release)
}

// EVROf returns the version from the parts in rpm's and repositories' metadata; an empty epoch is 0.
func EVROf(epoch, version, release string) (EVR, error) {
	n, err := strconv.ParseUint(cmp.Or(epoch, "0"), 10, 31)
	if err != nil {
		return EVR{}, fmt.Errorf("read epoch %q: it is not a number", epoch)
	}
	return EVR{int(n), version, release}, nil
}

// Valid keeps foreign metadata from smuggling paths or options into names.
func (n NEVRA) Valid() bool {
	for _, word := range []string{n.Name, n.Version, n.Release, n.Arch} {
		if !packageWord.MatchString(word) || word[0] == '-' || word[0] == '.' {
			return false
		}
	}
	return true
}

var packageWord = regexp.MustCompile(`^[A-Za-z0-9_.+~^-]+$`)
