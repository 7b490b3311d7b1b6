package runtime

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"

	"airgap.dev/airgap/kubeadm/release"
)

// Config is the section runtime: of airgap.yaml.
type Config struct {
	Name        string         `yaml:"name,omitempty" json:"name,omitempty" jsonschema:"enum=containerd,enum=crio,default=containerd" jsonschema_description:"Container runtime."`
	Source      string         `yaml:"source,omitempty" json:"source,omitempty" jsonschema:"enum=archive,enum=package,default=archive" jsonschema_description:"Source of the runtime. archive: the project's release, unpacked into /opt/airgap/bin; programs in /usr/bin stay unchanged. package: an RPM, containerd.io from Docker's repository or cri-o from the CRI-O project's."`
	Version     string         `yaml:"version,omitempty" json:"version,omitempty" jsonschema_description:"Full version of the runtime. Default: containerd 2.3.7, or a CRI-O with the minor version of Kubernetes."`
	RuncVersion string         `yaml:"runcVersion,omitempty" json:"runcVersion,omitempty" jsonschema_description:"Full version of runc for containerd from an archive. Default: 1.5.2. CRI-O and the package containerd.io contain runc."`
	Overrides   map[string]any `yaml:"overrides,omitempty" json:"overrides,omitempty" jsonschema_description:"Fields merged last into the runtime's configuration: containerd's in version 3 (version 2 for containerd 1.7), or CRI-O's below crio."`
}

// The sources of a runtime.
const (
	FromArchive = "archive" // the project's release, in BinDir
	FromPackage = "package" // an RPM, in its own paths
)

// Default fills empty fields, for a version of Kubernetes.
func (r *Config) Default(kubernetes string) {
	if r.Name == "" {
		r.Name = containerd().name
	}
	if r.Source == "" {
		r.Source = FromArchive
	}
	switch release, err := release.Of(kubernetes); {
	case r.Version != "":
	case r.CRIO() && err == nil:
		r.Version = release.CRIO
	case r.Name == containerd().name:
		r.Version = "2.3.7"
	}
	if r.RuncVersion == "" && r.Name == containerd().name && r.Source != FromPackage {
		r.RuncVersion = "1.5.2"
	}
	r.Version = strings.TrimPrefix(r.Version, "v")
	r.RuncVersion = strings.TrimPrefix(r.RuncVersion, "v")
}

// Validate returns an error for every invalid value. Call Default first.
func (r Config) Validate(at *field.Path) field.ErrorList {
	own := at.Child("overrides")
	return slices.Concat(r.ValidateStored(at), r.misspelt(own), r.networkMoved(own))
}

// ValidateStored is Validate for the section of a bundle that this host already has. It does not
// check the names of overrides, because an older airgap accepted more.
func (r Config) ValidateStored(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if sources := []string{FromArchive, FromPackage}; !slices.Contains(sources, r.Source) {
		errs = append(errs, field.NotSupported(at.Child("source"), r.Source, sources))
	}
	switch r.Name {
	case containerd().name:
		return append(errs, r.validateContainerd(at)...)
	case crio().name:
		return append(errs, r.validateCRIO(at)...)
	default:
		return append(errs, field.NotSupported(at.Child("name"), r.Name, []string{containerd().name, crio().name}))
	}
}

func (r Config) validateContainerd(at *field.Path) field.ErrorList {
	errs := atLeast(at.Child("version"), r.Version, "1.7.28") // for the Kubernetes versions see package release
	switch {
	case r.Source != FromPackage:
		errs = append(errs, atLeast(at.Child("runcVersion"), r.RuncVersion, "1.3.0")...)
	case r.RuncVersion != "":
		errs = append(errs, field.Forbidden(at.Child("runcVersion"), "the package containerd.io contains the runc that it was tested with"))
	}
	if _, ok := r.Overrides["version"]; ok {
		errs = append(errs, field.Forbidden(at.Child("overrides", "version"), "airgap sets this field"))
	}
	return errs
}

func (r Config) validateCRIO(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if r.Version != "" { // empty only if the version of Kubernetes is invalid
		errs = atLeast(at.Child("version"), r.Version, "1.35.0")
	}
	if r.RuncVersion != "" {
		errs = append(errs, field.Forbidden(at.Child("runcVersion"), "CRI-O contains the runc that it was tested with"))
	}
	for key := range r.Overrides {
		if key != "crio" {
			errs = append(errs, field.Invalid(at.Child("overrides"), key, "CRI-O's settings are all below crio"))
		}
	}
	return errs
}

// CRIO reports whether the runtime is CRI-O.
func (r Config) CRIO() bool { return r.Name == crio().name }

// Package returns the name of the runtime's RPM, "" for an archive.
func (r Config) Package() string { return r.engine().rpm }

// Runc returns the path of the program that runs its containers.
func (r Config) Runc() string { return r.engine().runc }

// String returns, for example, "containerd 2.3.7 and runc 1.5.2".
func (r Config) String() string {
	if r.RuncVersion == "" {
		return r.engine().title + " " + r.Version
	}
	return r.engine().title + " " + r.Version + " and runc " + r.RuncVersion
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

// configVersion returns the version of the configuration format for this release of containerd.
func (r Config) configVersion() int {
	if v, err := version.ParseSemantic(r.Version); err == nil && v.Major() < 2 {
		return 2
	}
	return 3
}

// File is an upstream file in the bundle.
type File struct {
	Name        string // in the bundle: files/Name
	URL         string
	ChecksumURL string // a file in sha256sum format with a line for the last element of URL
}

// Files returns the release files of the runtime for an architecture in Go's spelling ("amd64"). A
// package has none.
func (r Config) Files(arch string) []File {
	switch {
	case r.Package() != "":
		return nil
	case r.CRIO():
		return r.crioFiles(arch)
	}
	containerd := fmt.Sprintf("containerd-%s-linux-%s.tar.gz", r.Version, arch)
	fromContainerd := "https://github.com/containerd/containerd/releases/download/v" + r.Version + "/"
	fromRunc := "https://github.com/opencontainers/runc/releases/download/v" + r.RuncVersion + "/"
	return []File{
		{Name: containerd, URL: fromContainerd + containerd, ChecksumURL: fromContainerd + containerd + ".sha256sum"},
		{Name: runcName(r.RuncVersion, arch), URL: fromRunc + "runc." + arch, ChecksumURL: fromRunc + "runc.sha256sum"},
	}
}

// crioFiles returns the archive of static programs, including conmon and runc, from the project's
// bucket (cri-o/packaging, scripts/bundle/build).
func (r Config) crioFiles(arch string) []File {
	archive := fmt.Sprintf("cri-o.%s.v%s.tar.gz", arch, r.Version)
	url := "https://storage.googleapis.com/cri-o/artifacts/" + archive
	return []File{{Name: archive, URL: url, ChecksumURL: url + ".sha256sum"}}
}

// runcName adds the version, which upstream's file name does not have.
func runcName(version, arch string) string { return fmt.Sprintf("runc-%s-linux-%s", version, arch) }
