package rpm

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Kept is a locked package of an earlier bundle. Its repository may have removed it.
type Kept struct {
	Repository string
	URL        string // upstream
	Primary    []byte // its elements in the metadata
	Filelists  []byte
}

// ReadKept reads the metadata of the wanted packages, by the SHA-256 of their files, from the
// repository of a bundle at dir.
func ReadKept(ctx context.Context, source fs.FS, dir string, wanted map[string]Kept) ([]Kept, error) {
	text, err := readIn(source, path.Join(dir, "repodata/repomd.xml"), maxRepomd)
	if err != nil {
		return nil, err
	}
	md, err := parseRepomd(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path.Join(dir, "repodata/repomd.xml"), err)
	}
	found := map[string]Kept{}
	err = md.eachIn(ctx, source, dir, "primary", func(element []byte) error {
		e, err := parsePackage(element)
		if err != nil {
			return err
		}
		if k, is := wanted[e.id()]; is {
			k.Primary = slices.Clone(element)
			found[e.id()] = k
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = md.eachIn(ctx, source, dir, "filelists", func(element []byte) error {
		if id := pkgid.FindSubmatch(element); id != nil {
			if k, is := found[strings.ToLower(string(id[1]))]; is {
				k.Filelists = slices.Clone(element)
				found[strings.ToLower(string(id[1]))] = k
			}
		}
		return nil
	})
	var all []Kept
	for _, id := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[id])
	}
	return all, err
}

// eachIn calls f for each package element of a metadata file.
func (md *repomd) eachIn(ctx context.Context, source fs.FS, dir, kind string, f func(element []byte) error) error {
	d, ok := md.find(kind)
	if !ok {
		return fmt.Errorf("find %s metadata: %w", kind, errNotListed)
	}
	name, err := relative(d.Location.Href)
	if err != nil {
		return err
	}
	data, err := readIn(source, path.Join(dir, name), maxCompressed)
	if err == nil {
		err = d.Checksum.check(data)
	}
	if err != nil {
		return err
	}
	return metadata{name: name, data: data}.each(ctx, f)
}

func readIn(source fs.FS, name string, limit int64) ([]byte, error) {
	f, err := source.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: %w", name, errTooLarge)
	}
	return data, nil
}

// keep adds the kept packages that the repository no longer has. Only the repository's keys
// make them valid, as for all its packages.
func (s *source) keep(all []Kept, arch string) error {
	for _, k := range all {
		if k.Repository != s.Name {
			continue
		}
		e, err := parsePackage(k.Primary)
		if err != nil {
			return s.wrap(fmt.Errorf("use an earlier bundle: %w", err))
		}
		if s.byID[e.id()] != nil || e.Arch != arch && e.Arch != "noarch" || !isURL(k.URL) {
			continue
		}
		e.source, e.url, e.kept = s, k.URL, &k
		s.entries, s.byID[e.id()] = append(s.entries, e), e
	}
	return nil
}

// keptElements sets the XML elements of the kept packages.
func keptElements(packages map[*entry]*Package) {
	for e, p := range packages {
		if e.kept != nil {
			p.primary, p.filelists = e.kept.Primary, e.kept.Filelists
		}
	}
}

// scanKept searches the file lists of kept packages: their repository's lists do not have
// them.
func (s *source) scanKept(ctx context.Context, f func(id string, element []byte) error) error {
	for id, e := range s.byID {
		if e.kept == nil || e.kept.Filelists == nil {
			continue
		}
		if err := f(id, e.kept.Filelists); err != nil {
			return err
		}
	}
	return ctx.Err()
}
