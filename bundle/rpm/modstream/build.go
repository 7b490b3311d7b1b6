// Package modstream chooses the active streams of modules as dnf does.
package modstream

import (
	"fmt"
	"strconv"

	"gopkg.in/yaml.v3"
)

// Build is one build of a stream.
type Build struct {
	Name         string  `yaml:"name"`
	Stream       string  `yaml:"stream"`
	Version      Version `yaml:"version"`
	Context      string  `yaml:"context"`
	Arch         string  `yaml:"arch"` // "" is every architecture
	Dependencies []struct {
		Requires map[string][]string `yaml:"requires"`
	} `yaml:"dependencies"`
	Artifacts struct {
		RPMs []string `yaml:"rpms"` // NAME-EPOCH:VERSION-RELEASE.ARCH
	} `yaml:"artifacts"`
}

// Version is a number, also in quotes as some programs write it.
type Version uint64

// UnmarshalYAML reads a number.
func (v *Version) UnmarshalYAML(node *yaml.Node) error {
	n, err := strconv.ParseUint(node.Value, 10, 64)
	if err != nil {
		return fmt.Errorf("line %d: the version %.50q is not a number", node.Line, node.Value)
	}
	*v = Version(n)
	return nil
}
