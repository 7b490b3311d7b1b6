// Package export writes the packages of a bundle as a dnf repository that other servers of
// the site can use: Satellite, Nexus or a plain web server.
//
// The repository is complete: packages, metadata with its signature, and the keys. Each byte
// is verified while it is read from the bundle.
package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// Options name the bundle and the target.
type Options struct {
	Dir      string   // directory of the bundle
	Keys     []string // of --require-key
	To       string   // directory for the repositories; it is created
	URL      string   // https or http URL of To on the web server, for the .repo files; "": a file URL of To
	Progress ui.Progress
}

// Result lists the repositories.
type Result struct {
	Dir          string       `json:"dir"`
	Repositories []Repository `json:"repositories"`
}

// Repository is the dnf repository of one operating system.
type Repository struct {
	OS       string   `json:"os"` // "el9"
	Dir      string   `json:"dir"`
	RepoFile string   `json:"repoFile"` // configuration for dnf
	Key      string   `json:"key"`      // fingerprint of the key that signed the metadata
	Packages int      `json:"packages"`
	Size     int64    `json:"size"`             // bytes of all files
	Written  int64    `json:"written"`          // bytes that were missing or wrong
	Others   []string `json:"others,omitempty"` // files in Dir that are not in the bundle, such as those of an earlier bundle
}

// RPMs writes the dnf repositories of a bundle. It keeps existing files with the right
// SHA-256, so an interrupted export continues. repomd.xml comes last: until then, dnf sees
// the earlier repository, or none.
func RPMs(ctx context.Context, o Options) (*Result, error) {
	base, err := baseURL(o.URL, o.To)
	if err != nil {
		return nil, err
	}
	v, _, err := site.OpenWhole(o.Dir, o.Keys)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	index := v.Top().Index()
	if len(index.Lock.Packages) == 0 {
		return nil, advice.Add(fmt.Errorf("export packages of %s: the bundle has none", o.Dir), "pass a bundle of a configuration with packages.repositories")
	}
	done := &Result{Dir: o.To}
	for _, name := range []string{index.Lock.OS} {
		r, err := exportOne(ctx, v, name, o, base)
		if err != nil {
			return nil, advice.Add(fmt.Errorf("export packages for %s to %s: %w", name, o.To, err), "run the same command again; it keeps the complete files")
		}
		done.Repositories = append(done.Repositories, r)
	}
	return done, nil
}

func exportOne(ctx context.Context, v *bundle.View, name string, o Options, base string) (Repository, error) {
	r := Repository{OS: name, Dir: filepath.Join(o.To, name), RepoFile: filepath.Join(o.To, "airgap-"+name+".repo")}
	files, err := filesOf(v, bundle.RPMDir(name))
	if err != nil {
		return r, err
	}
	for _, f := range files {
		r.Size += f.content.Size()
		if filepath.Ext(f.name) == ".rpm" {
			r.Packages++
		}
	}
	if r.Key, err = metadataKey(files); err != nil {
		return r, err
	}
	if r.Written, err = writeAll(ctx, r.Dir, files, o.Progress.Task("packages "+name, r.Size, true)); err != nil {
		return r, err
	}
	if r.Others, err = others(r.Dir, files); err != nil {
		return r, err
	}
	return r, writeText(r.RepoFile, repoText(name, base, files))
}

// metadataKey is the fingerprint of the key that signed repomd.xml.
func metadataKey(files []file) (string, error) {
	for _, f := range files {
		if f.name != rpm.KeysDir+"/"+rpm.PublicKeyFile {
			continue
		}
		text, err := io.ReadAll(f.content.Reader())
		if err != nil {
			return "", err
		}
		return rpm.OneKey(text)
	}
	return "", fmt.Errorf("find %s in the bundle: %w", rpm.PublicKeyFile, os.ErrNotExist)
}

// Write reports the repositories and the next steps.
func (r *Result) Write(w io.Writer) error {
	var errs []error
	for _, one := range r.Repositories {
		_, err := fmt.Fprintf(w, "%s: %s, %s; %s written, %s there before\n  metadata signed with RPM key %s: compare it with the fingerprint from the builder of the bundle\n  for dnf: copy %s to /etc/yum.repos.d on the servers\n  for Satellite or Nexus: upload the packages in %s and the keys in %s\n",
			one.Dir, ui.Count(one.Packages, "package"), ui.Size(one.Size), ui.Size(one.Written), ui.Size(one.Size-one.Written), one.Key,
			one.RepoFile, filepath.Join(one.Dir, rpm.PackagesDir), filepath.Join(one.Dir, rpm.KeysDir))
		errs = append(errs, err)
		if len(one.Others) > 0 {
			_, err = fmt.Fprintf(w, "  not in this bundle: %s, such as %s; the metadata does not list them, and they may be removed\n", ui.Count(len(one.Others), "file"), one.Others[0])
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
