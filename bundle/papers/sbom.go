package papers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/package-url/packageurl-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/reference"
)

// SBOMName is the SBOM of a bundle: SPDX 2.3.
const SBOMName = "sbom.spdx.json"

// noAssertion is the SPDX value for an unknown fact.
const noAssertion = "NOASSERTION"

// SBOM lists images, RPMs and files with their digests, origins and licences. The same
// lock gives the same bytes: the time is the time of the newest RPM.
func SBOM(p *bundle.Plan) ([]byte, error) {
	lock, err := json.Marshal(p.Lock)
	if err != nil {
		return nil, err
	}
	of := sha256.Sum256(lock)
	doc := sbomOf(p.Name, of, p.Tool, p.Newest())
	left := p.Left()
	for i, image := range p.Lock.Images {
		entry, err := sbomImage(i, image)
		if err != nil {
			return nil, err
		}
		doc.Packages = append(doc.Packages, inBase(entry, left.Image(image)))
	}
	for i, one := range p.Lock.Packages {
		doc.Packages = append(doc.Packages, inBase(sbomRPM(i, one, p.Lock.OS), left.Path(one.Path)))
	}
	for i, file := range p.Lock.Files {
		entry := sbomEntry("File", i, file.Name, "", file.URL, file.SHA256)
		entry.PackageFileName = file.Path
		doc.Packages = append(doc.Packages, inBase(entry, left.Path(file.Path)))
	}
	doc.Packages = append(doc.Packages, sbomCharts(p.Lock.Applied())...)
	for _, entry := range doc.Packages {
		doc.Relationships = append(doc.Relationships, relation(documentID, spdx.RelationshipDescribes, entry.PackageSPDXIdentifier))
	}
	return encodeSBOM(doc)
}

const documentID common.ElementID = "DOCUMENT"

// sbomOf is a document without entries; of makes its namespace unique.
func sbomOf(name string, of [sha256.Size]byte, tool string, created time.Time) *spdx.Document {
	return &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: documentID,
		DocumentName: name, DocumentNamespace: "https://airgap.dev/spdx/" + name + "-" + hex.EncodeToString(of[:]),
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: strings.ReplaceAll(tool, " ", "-")}},
			Created:  created.Format(time.RFC3339),
		},
	}
}

func relation(from common.ElementID, kind string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: kind}
}

func encodeSBOM(doc *spdx.Document) ([]byte, error) {
	var b bytes.Buffer
	if err := spdxjson.Write(doc, &b, spdxjson.Indent(" ")); err != nil {
		return nil, fmt.Errorf("write %s: %w", SBOMName, err)
	}
	return b.Bytes(), nil
}

// inBase marks the items that a delta omits.
func inBase(entry *spdx.Package, left bool) *spdx.Package {
	if left {
		entry.PackageComment = "not in this delta: the servers have it from an earlier bundle"
	}
	return entry
}

// sbomEntry has the fields of all kinds; sum is a SHA-256 in hex.
func sbomEntry(kind string, i int, name, version, from, sum string) *spdx.Package {
	return &spdx.Package{
		PackageName: name, PackageVersion: version, PackageSPDXIdentifier: common.ElementID(kind + "-" + strconv.Itoa(i+1)),
		PackageDownloadLocation: from, PackageChecksums: []common.Checksum{{Algorithm: common.SHA256, Value: sum}},
		PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion, PackageCopyrightText: noAssertion,
	}
}

func purl(kind, name, version string, qualifiers map[string]string) []*spdx.PackageExternalReference {
	url := packageurl.NewPackageURL(kind, "", name, version, packageurl.QualifiersFromMap(qualifiers), "")
	return []*spdx.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: url.ToString()}}
}

// sbomImage identifies an image by its digest; the tag is a qualifier, as in the
// package URL type oci.
func sbomImage(i int, image bundle.Image) (*spdx.Package, error) {
	ref, err := reference.ParseWritten(image.Name)
	if err != nil {
		return nil, err
	}
	hex := strings.TrimPrefix(image.Digest, "sha256:")
	entry := sbomEntry("Image", i, image.Name, image.Digest, noAssertion, hex)
	entry.PrimaryPackagePurpose = "CONTAINER"
	qualifiers := map[string]string{"repository_url": ref.Repository()}
	if ref.Tag != "" {
		qualifiers["tag"] = ref.Tag
	}
	entry.PackageExternalReferences = purl("oci", strings.ToLower(ref.Base()), image.Digest, qualifiers)
	return entry, nil
}

// sbomCharts lists each chart once, and the objects of each add-on.
func sbomCharts(addons []bundle.Addon) []*spdx.Package {
	var all []*spdx.Package
	seen := map[string]bool{}
	for i, a := range addons {
		objects := sbomEntry("Addon", i, a.Name, "", noAssertion, a.SHA256)
		objects.PackageFileName = a.Path
		all = append(all, objects)
		if a.Chart == nil || seen[a.Chart.Path] {
			continue
		}
		seen[a.Chart.Path] = true
		entry := sbomEntry("Chart", i, a.Chart.Name, a.Chart.Version, cmp.Or(a.Chart.Repository, noAssertion), a.Chart.SHA256)
		entry.PackageFileName = a.Chart.Path
		qualifiers := map[string]string{}
		if a.Chart.Repository != "" {
			qualifiers["repository_url"] = a.Chart.Repository
		}
		entry.PackageExternalReferences = purl("helm", a.Chart.Name, a.Chart.Version, qualifiers)
		all = append(all, entry)
	}
	return all
}

// sbomRPM has the vendor's licence as a comment, because it is often not an SPDX
// expression ("GPLv2+ and MIT").
func sbomRPM(i int, one bundle.Package, os string) *spdx.Package {
	n := one.NEVRA
	entry := sbomEntry("RPM", i, n.Name, n.EVR.String(), one.URL, one.SHA256)
	entry.PackageFileName = one.Path
	if one.License != "" {
		entry.PackageLicenseComments = "licence of the package: " + one.License
	}
	entry.PackageExternalReferences = purl("rpm", n.Name, n.Version+"-"+n.Release, map[string]string{"arch": n.Arch, "epoch": strconv.Itoa(n.Epoch), "distro": os})
	return entry
}
