package bundle

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/ui"
)

// packages is the dnf repository of a bundle.
type packages struct {
	closure *rpm.Closure
	byPath  map[string]rpm.Package
}

// planPackages resolves the closure of the packages.
func (p *Plan) planPackages(ctx context.Context, up upstream, r Request, progress ui.Progress) error {
	if r.Packages == nil {
		return nil
	}
	request := *r.Packages
	request.Locked = r.Locked.packages()
	var err error
	if request.Kept, err = r.Earlier.packages(ctx, r.Locked); err != nil {
		return err
	}
	request.Seen = r.Locked.repositories()
	task := progress.Task("resolve packages", 0, false)
	closure, err := rpm.Plan(ctx, up, request)
	if err == nil {
		task.Add(int64(len(closure.Packages)))
	}
	task.End(err)
	if err != nil {
		return err
	}
	p.Notices = append(p.Notices, closure.Notices...)
	dir := RPMDir(closure.OS)
	p.rpms = &packages{closure: closure, byPath: map[string]rpm.Package{}}
	p.Lock.OS, p.Lock.Proof, p.Lock.Hosts, p.Lock.Drivers = closure.OS, closure.Proof, closure.Hosts, closure.Together
	for _, s := range closure.Repositories {
		for _, notice := range slices.Concat(s.KeyNotices(), s.Notices) {
			p.Notices = append(p.Notices, "repository "+s.Name+": "+notice)
		}
		p.Lock.Repositories = append(p.Lock.Repositories, Repository{s.Name, s.Keys(), s.SignedMetadata, s.Location(), s.Timestamp})
		if !s.SignedMetadata && s.Signed != rpm.SignedOptional {
			p.Notices = append(p.Notices, fmt.Sprintf("repository %s: the metadata is not signed (%s), but the packages are signed", s.Name, s.Unsigned))
		}
	}
	if len(closure.Without) > 0 {
		p.Notices = append(p.Notices, fmt.Sprintf("no repository has %s for %s: a later dnf update there can replace the packages of Kubernetes and of a GPU driver; add a repository that has it, such as BaseOS, to packages.repositories",
			strings.Join(request.Wanted, ", "), strings.Join(closure.Without, ", ")))
	}
	for _, one := range closure.Packages {
		path := dir + "/" + rpm.PackagesDir + "/" + one.FileName
		p.Lock.Packages = append(p.Lock.Packages, Package{
			NEVRA: nevra.Text{NEVRA: one.NEVRA}, Repository: one.Repository, URL: one.URL,
			Path: path, Size: one.Size, SHA256: one.SHA256, License: one.License, NeededBy: one.NeededBy, Hosts: one.Hosts,
		})
		p.rpms.byPath[path] = one
		p.origins[path] = p.urlOrigin(up, one.URL, one.Mirrors...)
	}
	p.keepTimestamps(r.Locked)
	return nil
}

// keepTimestamps keeps the locked timestamp of a repository if its packages did not
// change. So the same lock gives the same bytes, also with newer metadata.
func (p *Plan) keepTimestamps(l *Locked) {
	if l == nil {
		return
	}
	for i, r := range p.Lock.Repositories {
		at := slices.IndexFunc(l.Lock.Repositories, func(was Repository) bool { return was.Name == r.Name && was.Location == r.Location })
		if at < 0 || l.Lock.Repositories[at].Timestamp == 0 || slices.Contains(l.Update, r.Name) {
			continue
		}
		if slices.Equal(p.Lock.packagesOf(r.Name), l.Lock.packagesOf(r.Name)) {
			p.Lock.Repositories[i].Timestamp = l.Lock.Repositories[at].Timestamp
		}
	}
}

func (l Lock) packagesOf(repository string) []string {
	var sums []string
	for _, p := range l.Packages {
		if p.Repository == repository {
			sums = append(sums, p.SHA256)
		}
	}
	return sums
}

// SignPackages creates the metadata of the dnf repository and signs it with the key.
// The public key goes on the USB drive. A plan with packages requires it before Write.
func (p *Plan) SignPackages(key *rpm.Key) error {
	if p.rpms == nil {
		return nil
	}
	public, err := key.Public()
	if err != nil {
		return fmt.Errorf("sign package repository: %w", err)
	}
	repodata, err := p.rpms.closure.Repodata(key, p.Created)
	if err != nil {
		return fmt.Errorf("sign package repository: %w", err)
	}
	p.rpmKey = public
	for name, content := range repodata {
		p.small[RPMDir(p.Lock.OS)+"/"+name] = content
	}
	return nil
}

// RPMDir is the directory of the dnf repository for an OS, such as "el9".
func RPMDir(os string) string { return "rpm/" + os }

// verify checks the vendor's signature of the package at path; other paths have no
// vendor's signature.
func (p *packages) verify(path string, r io.Reader) error {
	if p == nil {
		return nil
	}
	one, isPackage := p.byPath[path]
	if !isPackage {
		return nil
	}
	if err := p.closure.Verify(one, r); err != nil {
		return fmt.Errorf("check vendor's signature: %w", err)
	}
	return nil
}
