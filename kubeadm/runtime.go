package kubeadm

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
)

// Runtime is the section runtime: of airgap.yaml.
type Runtime struct {
	Name        string         `yaml:"name,omitempty" json:"name,omitempty" jsonschema:"enum=containerd,default=containerd" jsonschema_description:"Container runtime."`
	Version     string         `yaml:"version,omitempty" json:"version,omitempty" jsonschema:"default=2.3.7" jsonschema_description:"containerd version, with its patch."`
	RuncVersion string         `yaml:"runcVersion,omitempty" json:"runcVersion,omitempty" jsonschema:"default=1.5.2" jsonschema_description:"runc version, with its patch."`
	Overrides   map[string]any `yaml:"overrides,omitempty" json:"overrides,omitempty" jsonschema_description:"Merged last into containerd's configuration: version 3, with containerd 1.7 version 2."`
}

// Default fills what was left out.
func (r *Runtime) Default() {
	if r.Name == "" {
		r.Name = "containerd"
	}
	if r.Version == "" {
		r.Version = "2.3.7"
	}
	if r.RuncVersion == "" {
		r.RuncVersion = "1.5.2"
	}
	r.Version = strings.TrimPrefix(r.Version, "v")
	r.RuncVersion = strings.TrimPrefix(r.RuncVersion, "v")
}

// Validate reports every wrong value of a section that was defaulted.
func (r Runtime) Validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch r.Name {
	case "containerd":
	case "crio":
		errs = append(errs, field.Invalid(at.Child("name"), r.Name, "CRI-O is not supported yet; use containerd"))
	default:
		errs = append(errs, field.NotSupported(at.Child("name"), r.Name, []string{"containerd"}))
	}
	errs = append(errs, atLeast(at.Child("version"), r.Version, "1.7.28")...) // with which Kubernetes: Releases
	errs = append(errs, atLeast(at.Child("runcVersion"), r.RuncVersion, "1.3.0")...)
	if _, ok := r.Overrides["version"]; ok {
		errs = append(errs, field.Forbidden(at.Child("overrides", "version"), "it is written by airgap"))
	}
	return errs
}

func atLeast(at *field.Path, text, least string) field.ErrorList {
	v, err := version.ParseSemantic(text)
	if err != nil {
		return field.ErrorList{field.Invalid(at, text, "expected a version such as "+least)}
	}
	if v.LessThan(version.MustParseSemantic(least)) {
		return field.ErrorList{field.Invalid(at, text, fmt.Sprintf("expected %s or later", least))}
	}
	return nil
}

// configVersion is that of the configuration that airgap writes for this release.
func (r Runtime) configVersion() int {
	if v, err := version.ParseSemantic(r.Version); err == nil && v.Major() < 2 {
		return 2
	}
	return 3
}

// File is one upstream file that the bundle carries.
type File struct {
	Name        string // in the bundle: files/Name
	URL         string
	ChecksumURL string // sha256sum format; the line of the URL's last element counts
}

// Files are the release files of the runtime for a machine architecture in
// Go's spelling: "amd64".
func (r Runtime) Files(arch string) []File {
	containerd := fmt.Sprintf("containerd-%s-linux-%s.tar.gz", r.Version, arch)
	fromContainerd := "https://github.com/containerd/containerd/releases/download/v" + r.Version + "/"
	fromRunc := "https://github.com/opencontainers/runc/releases/download/v" + r.RuncVersion + "/"
	return []File{
		{Name: containerd, URL: fromContainerd + containerd, ChecksumURL: fromContainerd + containerd + ".sha256sum"},
		{Name: runcName(r.RuncVersion, arch), URL: fromRunc + "runc." + arch, ChecksumURL: fromRunc + "runc.sha256sum"},
	}
}

// runcName adds the version that upstream leaves out of its file name.
func runcName(version, arch string) string { return fmt.Sprintf("runc-%s-linux-%s", version, arch) }
