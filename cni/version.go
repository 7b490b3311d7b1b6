package cni

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/internal/reference"
)

// VersionError means that a manifest or chart has a version that airgap does not install, or another
// version than airgap.yaml.
type VersionError struct {
	What  string // "calico.yaml", "the chart"
	Found string // "Calico v3.29.3"
	Want  string // "3.31 or later"
	Set   string // the hint
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has %s, expected %s: %s", e.What, e.Found, e.Want, e.Set)
}

// VersionFile is the file with the version of the source in airgap.yaml. It is empty if airgap fetches by
// version.
type VersionFile struct {
	Manifest string // https URL, or path relative to airgap.yaml
	Chart    string // path relative to airgap.yaml
}

// SourceOf returns the file that CheckSource needs before planning, because a directory or a chart may
// have any version.
func SourceOf(c Config) VersionFile {
	switch {
	case c.Plugin == Calico && c.Calico.Source != "" && c.Calico.Form == OperatorForm:
		return VersionFile{Manifest: below(c.Calico.Source, "calico.yaml")}
	case c.Plugin == Cilium && c.Cilium.Source != "" && !strings.Contains(c.Cilium.Source, "://"):
		return VersionFile{Chart: c.Cilium.Source}
	}
	return VersionFile{}
}

// CheckSource compares the file of Stated with airgap.yaml. objects are those of the manifest, nil if it
// does not exist; chart is the version of the chart.
func CheckSource(c Config, objects []*unstructured.Unstructured, chart string) error {
	stated := SourceOf(c)
	switch {
	case stated.Chart != "":
		return checkCilium("chart "+stated.Chart, chart)
	case stated.Manifest == "":
		return nil
	case len(objects) == 0 && c.Calico.Version == "":
		return fmt.Errorf("network.calico.version is not set, and %s, which has it, does not exist: set network.calico.version to the version of %s", stated.Manifest, c.Calico.Source)
	case len(objects) == 0:
		return nil
	}
	p := &patched{objects: objects}
	tag := reference.TagOf(p.imageOf("DaemonSet", "kube-system", "calico-node", "calico-node"))
	if p.err != nil {
		return fmt.Errorf("%s: %w", stated.Manifest, p.err)
	}
	if err := checkCalico(stated.Manifest, tag); err != nil {
		return err
	}
	return sameCalico(stated.Manifest, tag, c.Calico.version())
}

// checkCalico returns an error for a version of Calico that airgap does not install. It accepts a tag that
// is not a version.
func checkCalico(what, tag string) error {
	if v, err := semver.NewVersion(tag); err == nil && core(v).LessThan(semver.New(3, firstCalicoMinor, 0, "", "")) {
		return &VersionError{what, "Calico " + tag, fmt.Sprintf("3.%d or later", firstCalicoMinor), "use a later version at network.calico.source"}
	}
	return nil
}

// sameCalico returns an error for another version than in airgap.yaml. It ignores a suffix that a site adds
// to its tags.
func sameCalico(what, tag, want string) error {
	found, err := semver.NewVersion(tag)
	if err != nil {
		return nil //nolint:nilerr // a tag that is not a version passes
	}
	if wanted, err := semver.NewVersion(want); err == nil && !core(found).Equal(core(wanted)) {
		return &VersionError{what, "Calico " + tag, want + ", from network.calico.version or its default", "set network.calico.version to " + core(found).Original()}
	}
	return nil
}

// checkCalicoOperator returns an error for an operator that installs another minor version than the one
// with images in the bundle.
func checkCalicoOperator(tag, version string) error {
	v, err := semver.NewVersion(tag)
	of, known := calicoLines()[line(version)]
	if err != nil || !known || of.operator == v.Major()*1000+v.Minor() {
		return nil //nolint:nilerr // a tag that is not a version passes
	}
	found, set := "an unknown Calico", "use the operator of Calico "+version+" at network.calico.source"
	for _, name := range operatorLines() {
		if calicoLines()[name].operator == v.Major()*1000+v.Minor() {
			found, set = "Calico "+name, "set network.calico.version to the version of its directory"
		}
	}
	return &VersionError{"tigera-operator.yaml, with operator " + tag + ",", found, version + ", from network.calico.version or its default", set}
}

// checkCilium returns an error for pre-releases and versions before 1.18: the values of those charts have
// other types.
func checkCilium(what, version string) error {
	v, err := semver.NewVersion(version)
	if err != nil {
		return nil //nolint:nilerr // a tag that is not a version passes
	}
	if v.Prerelease() != "" || v.LessThan(semver.New(1, firstCiliumMinor, 0, "", "")) {
		return &VersionError{what, "Cilium " + version, fmt.Sprintf("a release from 1.%d on", firstCiliumMinor), "use such a version at network.cilium.source, for example " + ciliumVersion}
	}
	return nil
}

// core returns a version without pre-release and build, with the leading v of Calico's tags.
func core(v *semver.Version) *semver.Version {
	return semver.MustParse(fmt.Sprintf("v%d.%d.%d", v.Major(), v.Minor(), v.Patch()))
}

// version returns the version in airgap.yaml, or the default.
func (c CalicoConfig) version() string { return cmp.Or(c.Version, calicoVersion) }

// imageOf returns the image of a workload's container; "" if it does not exist.
func (p *patched) imageOf(kind, namespace, name, container string) string {
	o := p.one(kind, namespace, name)
	spec, _ := nested(o.Object, "spec", "template", "spec")
	list, _ := spec["containers"].([]any)
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["name"] == container {
			image, _ := c["image"].(string)
			return image
		}
	}
	return ""
}
