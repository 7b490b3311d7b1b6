package rpm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/google/rpmpack"

	"airgap.dev/airgap/bundle/rpm/rpmfile"
)

// Spec is a package to build.
type Spec struct {
	Name, Version, Release string
	Arch                   string // x86_64, aarch64
	Summary, License, URL  string
	Description, Vendor    string // Description is the Summary when empty
	Files                  []File
	Requires               []string
	// The scriptlets are POSIX sh. rpm passes 0 to the scriptlets of a removal, 1 to
	// the scriptlets of an upgrade.
	PreInstall, PostInstall, PreRemove, PostRemove string
	PostTransaction                                string    // runs after all packages of the transaction are installed
	Time                                           time.Time // of the build, of every file, of the signature
}

// File is one file or directory of a package.
type File struct {
	Path   string // absolute
	Source string // path of a file with the content; otherwise Data
	Data   []byte
	Mode   fs.FileMode // permission bits, and fs.ModeDir for a directory
	Owner  string      // root when empty
	Group  string
	Config bool // kept if the administrator has changed it
	// A Doc file is not installed with rpm --nodocs. A License file is not installed
	// on hosts that exclude licenses.
	Doc, License bool
}

// Built is an RPM that airgap built: its headers, and its payload in a temporary file
// without a name, which the kernel removes when it is closed.
type Built struct {
	headers []byte
	payload *payload
}

// Build builds a signed RPM. The same Spec and key give the same bytes.
//
// rpmpack writes the headers. It would keep all files, the payload and the
// signed data in memory. So it gets the files without their content, and Build
// writes the payload to the disk.
func Build(spec Spec, key *Key) (*Built, error) {
	spec.Files = slices.SortedFunc(slices.Values(spec.Files), func(a, b File) int { return cmp.Compare(a.Path, b.Path) }) // as rpmpack does
	payload, err := packPayload(spec.Files)
	if err != nil {
		return nil, fmt.Errorf("build package %s: %w", spec.Name, err)
	}
	headers, err := spec.headers(payload, key)
	if err != nil {
		return nil, fmt.Errorf("build package %s: %w", spec.Name, errors.Join(err, payload.close()))
	}
	return &Built{headers, payload}, nil
}

// Size returns the size of the whole package in bytes.
func (b *Built) Size() int64 { return int64(len(b.headers)) + b.payload.size }

// Reader returns a reader from the start of the package. Several readers can be in use.
func (b *Built) Reader() io.Reader {
	return io.MultiReader(bytes.NewReader(b.headers), b.payload.reader())
}

// BuildPackage builds a package and writes it to w.
func BuildPackage(w io.Writer, spec Spec, key *Key) error {
	p, err := Build(spec, key)
	if err != nil {
		return err
	}
	defer p.payload.close()
	if _, err := io.Copy(w, p.Reader()); err != nil {
		return fmt.Errorf("build package %s: %w", spec.Name, err)
	}
	return nil
}

// headers returns all bytes before the payload.
func (s Spec) headers(p *payload, key *Key) ([]byte, error) {
	pack, err := s.pack()
	if err != nil {
		return nil, err
	}
	// rpmpack cannot compute these values without the content.
	pack.AddCustomTag(tagSize, rpmpack.EntryInt32([]int32{int32(p.content)}))
	if len(s.Files) > 0 {
		pack.AddCustomTag(tagFileSizes, rpmpack.EntryUint32(p.sizes))
		pack.AddCustomTag(tagFileDigests, rpmpack.EntryStringSlice(p.digests))
	}
	pack.AddCustomTag(rpmfile.TagPayloadDigest, rpmpack.EntryStringSlice([]string{p.sha256}))
	pack.AddCustomSig(tagSigPayloadSize, rpmpack.EntryInt32([]int32{int32(p.content)}))
	// rpmpack requests a signature of the header, then a signature of the header
	// and its own empty payload. The signature over the real payload replaces the
	// second.
	var header []byte
	var emptyPayload int
	pack.SetPGPSigner(func(signed []byte) ([]byte, error) {
		if header == nil {
			header = bytes.Clone(signed)
			pack.AddCustomSig(tagSigSize, rpmpack.EntryInt32([]int32{int32(int64(len(header)) + p.size)}))
			return key.DetachSign(bytes.NewReader(header), s.Time)
		}
		emptyPayload = len(signed) - len(header)
		return key.DetachSign(io.MultiReader(bytes.NewReader(header), p.reader()), s.Time)
	})
	var all bytes.Buffer
	if err := pack.Write(&all); err != nil {
		return nil, err
	}
	return all.Bytes()[:all.Len()-emptyPayload], nil
}

// pack returns the package for rpmpack, with files without their content.
func (s Spec) pack() (*rpmpack.RPM, error) {
	var requires rpmpack.Relations
	for _, r := range s.Requires {
		if err := requires.Set(r); err != nil {
			return nil, err
		}
	}
	pack, err := rpmpack.NewRPM(rpmpack.RPMMetaData{
		Name: s.Name, Version: s.Version, Release: s.Release, Epoch: rpmpack.NoEpoch, Arch: s.Arch, OS: "linux",
		Summary: s.Summary, Description: cmp.Or(s.Description, s.Summary), Licence: s.License, URL: s.URL, Vendor: s.Vendor, Requires: requires,
		Compressor: "zstd", BuildTime: s.Time,
		// The name of the build host would make the bytes differ.
		BuildHost: "localhost",
	})
	if err != nil {
		return nil, err
	}
	for _, f := range s.Files {
		file := rpmpack.RPMFile{
			Name: f.Path, Mode: f.unixMode(), MTime: uint32(s.Time.Unix()),
			Owner: cmp.Or(f.Owner, "root"), Group: cmp.Or(f.Group, "root"),
		}
		switch {
		case f.Config:
			file.Type = rpmpack.ConfigFile | rpmpack.NoReplaceFile
		case f.Doc:
			file.Type = rpmpack.DocFile
		case f.License:
			file.Type = rpmpack.LicenceFile
		}
		pack.AddFile(file)
	}
	pack.AddPrein(s.PreInstall)
	pack.AddPostin(s.PostInstall)
	pack.AddPreun(s.PreRemove)
	pack.AddPostun(s.PostRemove)
	pack.AddPosttrans(s.PostTransaction)
	return pack, nil
}

// unixMode returns the mode for cpio and rpm: permissions and file type.
func (f File) unixMode() uint {
	kind := uint(0o100000)
	if f.Mode.IsDir() {
		kind = 0o040000
	}
	return kind | uint(f.Mode.Perm())
}
