package cni

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/internal/reference"
)

// VersionError reports a manifest or chart of a version that airgap does not
// install, or of a different version than airgap.yaml names.
type VersionError struct {
	What  string // "calico.yaml", "the chart"
	Found string // "Calico v3.29.3"
	Want  string // "3.31 or later"
	Set   string // how to fix it
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s is of %s, expected %s: %s", e.What, e.Found, e.Want, e.Set)
}

// Stated is the file that shows which version the source of airgap.yaml has. It
// is empty if airgap fetches by version.
type Stated struct {
	Manifest string // https URL, or path relative to airgap.yaml
	Chart    string // path relative to airgap.yaml
}

// SourceOf is the file that CheckSource needs before planning: a directory or a
// chart may have any version.
func SourceOf(c Config) Stated {
	switch {
	case c.Plugin == Calico && c.Calico.Source != "" && c.Calico.Form == OperatorForm:
		return Stated{Manifest: below(c.Calico.Source, "calico.yaml")}
	case c.Plugin == Cilium && c.Cilium.Source != "" && !strings.Contains(c.Cilium.Source, "://"):
		return Stated{Chart: c.Cilium.Source}
	}
	return Stated{}
}

// CheckSource compares the file of Stated with airgap.yaml: the objects of the
// manifest, nil if it does not exist, or the version of the chart.
func CheckSource(c Config, objects []*unstructured.Unstructured, chart string) error {
	stated := SourceOf(c)
	switch {
	case stated.Chart != "":
		return checkCilium("chart "+stated.Chart, chart)
	case stated.Manifest == "":
		return nil
	case len(objects) == 0 && c.Calico.Version == "":
		return fmt.Errorf("network.calico.version is not set, and %s, which names it, does not exist: set network.calico.version to the version of %s", stated.Manifest, c.Calico.Source)
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

// checkCalico refuses a version of Calico that airgap does not install. A tag
// that is not a version passes.
func checkCalico(what, tag string) error {
	if v, err := semver.NewVersion(tag); err == nil && core(v).LessThan(semver.New(3, firstCalicoMinor, 0, "", "")) {
		return &VersionError{what, "Calico " + tag, fmt.Sprintf("3.%d or later", firstCalicoMinor), "take a later version at network.calico.source"}
	}
	return nil
}

// sameCalico refuses a different version than airgap.yaml names. A suffix that a
// site adds to its tags does not count.
func sameCalico(what, tag, want string) error {
	found, err := semver.NewVersion(tag)
	if err != nil {
		return nil //nolint:nilerr // a tag that is not a version passes
	}
	if wanted, err := semver.NewVersion(want); err == nil && !core(found).Equal(core(wanted)) {
		return &VersionError{what, "Calico " + tag, want + ", by network.calico.version or its default", "set network.calico.version to " + core(found).Original()}
	}
	return nil
}

// checkCalicoOperator refuses an operator that installs a different minor than
// the one that the bundle carries images for.
func checkCalicoOperator(tag, version string) error {
	v, err := semver.NewVersion(tag)
	of, known := calicoLines()[line(version)]
	if err != nil || !known || of.operator == v.Major()*1000+v.Minor() {
		return nil //nolint:nilerr // a tag that is not a version passes
	}
	found, set := "an unknown Calico", "take the operator of Calico "+version+" at network.calico.source"
	for _, name := range operatorLines() {
		if calicoLines()[name].operator == v.Major()*1000+v.Minor() {
			found, set = "Calico "+name, "set network.calico.version to the version of its directory"
		}
	}
	return &VersionError{"tigera-operator.yaml, with operator " + tag + ",", found, version + ", by network.calico.version or its default", set}
}

// checkCilium refuses pre-releases and versions before 1.18: the values of those
// charts have other types.
func checkCilium(what, version string) error {
	v, err := semver.NewVersion(version)
	if err != nil {
		return nil //nolint:nilerr // a tag that is not a version passes
	}
	if v.Prerelease() != "" || v.LessThan(semver.New(1, firstCiliumMinor, 0, "", "")) {
		return &VersionError{what, "Cilium " + version, fmt.Sprintf("a release from 1.%d on", firstCiliumMinor), "take such a version at network.cilium.source, " + ciliumVersion + " for instance"}
	}
	return nil
}

// core is a version without pre-release and build, with the leading v of Calico's tags.
func core(v *semver.Version) *semver.Version {
	return semver.MustParse(fmt.Sprintf("v%d.%d.%d", v.Major(), v.Minor(), v.Patch()))
}

// version is that of airgap.yaml, or the default one.
func (c CalicoConfig) version() string { return cmp.Or(c.Version, calicoVersion) }

// imageOf is the image of a container of a workload; "" if there is none.
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
