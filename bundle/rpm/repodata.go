package rpm

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Directories of the repository, below rpm/OS/ of a bundle.
const (
	PackagesDir = "Packages"
	KeysDir     = "keys"
)

// Repodata returns the files of the dnf repository except the packages: the
// metadata, repomd.xml with its signature, and under keys/ the public keys of
// metadata and packages. The same closure, key and limit (see Newest) give the same bytes. It omits
// changelogs: dnf does not need them, and some are larger than all other metadata.
func (c *Closure) Repodata(key *Key, limit time.Time) (map[string][]byte, error) {
	files, err := c.keys(key)
	if err != nil {
		return nil, err
	}
	at := c.Newest(limit)
	md := xmlRepomd{Space: "http://linux.duke.edu/metadata/repo", Revision: at.Unix()}
	for _, kind := range []struct {
		name, root, space string
		element           func(Package) []byte
	}{
		{"primary", "metadata", `xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm"`, Package.primaryElement},
		{"filelists", "filelists", `xmlns="http://linux.duke.edu/metadata/filelists"`, Package.filelistsElement},
		{"other", "otherdata", `xmlns="http://linux.duke.edu/metadata/other"`, Package.otherElement},
	} {
		open := c.document(kind.root, kind.space, kind.element)
		data, packed, err := pack(kind.name, open, at)
		if err != nil {
			return nil, err
		}
		files[data.Location.Href] = packed
		md.Data = append(md.Data, data)
	}
	return files, md.sign(files, key, at)
}

func (c *Closure) keys(key *Key) (map[string][]byte, error) {
	public, err := key.Public()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{KeysDir + "/" + PublicKeyFile: public}
	for _, s := range c.Repositories {
		keys, err := s.keys.Armored()
		if err != nil {
			return nil, err
		}
		for i, data := range keys {
			files[fmt.Sprintf("%s/%s-%d.asc", KeysDir, s.Name, i+1)] = data
		}
	}
	return files, nil
}

func (c *Closure) document(root, space string, element func(Package) []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s<%s %s packages=\"%d\">\n", xml.Header, root, space, len(c.Packages))
	for _, p := range c.Packages {
		b.Write(element(p))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "</%s>\n", root)
	return b.Bytes()
}

// location is the element with the location; its attributes can contain ">".
var location = regexp.MustCompile(`<location(?:\s+[^\s=>]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(?:/>|>\s*</location\s*>)`)

// primaryElement returns upstream's element with the location in the bundle.
func (p Package) primaryElement() []byte {
	ours := []byte(`<location href="` + PackagesDir + "/" + p.FileName + `"/>`)
	return location.ReplaceAllLiteral(p.primary, ours)
}

// filelistsElement returns upstream's element. If upstream has none, dnf knows
// only the files in primary, as with upstream's repository.
func (p Package) filelistsElement() []byte {
	if p.filelists != nil {
		return p.filelists
	}
	return p.otherElement()
}

func (p Package) otherElement() []byte {
	return fmt.Appendf(nil, `<package pkgid="%s" name="%s" arch="%s"><version epoch="%d" ver="%s" rel="%s"/></package>`,
		p.SHA256, p.Name, p.Arch, p.Epoch, p.Version, p.Release)
}

type xmlRepomd struct {
	XMLName  xml.Name  `xml:"repomd"`
	Space    string    `xml:"xmlns,attr"`
	Revision int64     `xml:"revision"`
	Data     []xmlData `xml:"data"`
}

type xmlData struct {
	Type         string   `xml:"type,attr"`
	Checksum     checksum `xml:"checksum"`
	OpenChecksum checksum `xml:"open-checksum"`
	Location     struct {
		Href string `xml:"href,attr"`
	} `xml:"location"`
	Timestamp int64 `xml:"timestamp"`
	Size      int   `xml:"size"`
	OpenSize  int   `xml:"open-size"`
}

// pack compresses one metadata file and describes it. The name contains the
// checksum, so that a cache cannot confuse two repositories.
func pack(kind string, open []byte, at time.Time) (xmlData, []byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(open); err != nil {
		return xmlData{}, nil, err
	}
	if err := z.Close(); err != nil {
		return xmlData{}, nil, err
	}
	d := xmlData{Type: kind, Checksum: sha256Of(b.Bytes()), OpenChecksum: sha256Of(open), Timestamp: at.Unix(), Size: b.Len(), OpenSize: len(open)}
	d.Location.Href = "repodata/" + d.Checksum.Hex + "-" + kind + ".xml.gz"
	return d, b.Bytes(), nil
}

func sha256Of(data []byte) checksum {
	sum := sha256.Sum256(data)
	return checksum{Type: "sha256", Hex: hex.EncodeToString(sum[:])}
}

// sign adds repomd.xml and its signature to files.
func (md xmlRepomd) sign(files map[string][]byte, key *Key, at time.Time) error {
	body, err := xml.MarshalIndent(md, "", "  ")
	if err != nil {
		return err
	}
	data := []byte(xml.Header + strings.TrimSpace(string(body)) + "\n")
	files["repodata/repomd.xml"] = data
	files["repodata/repomd.xml.asc"], err = key.ArmoredSign(bytes.NewReader(data), at)
	return err
}
