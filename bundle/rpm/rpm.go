// Package rpm plans the RPMs that a server needs, and writes the dnf repository of
// the bundle.
//
// On the connected side Plan reads upstream repositories, verifies their
// metadata with the configured keys, and resolves the requirements. The
// Closure then writes a filtered repository, signed with airgap's own Key. Package
// dnf installs exactly these RPMs on the server.
//
// A plan never replaces, downgrades or removes an installed package. The package
// never returns a package before it has verified the vendor's signature.
package rpm

import (
	"context"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/nevra"
)

// Config is the section packages of airgap.yaml.
type Config struct {
	OS           string       `yaml:"os" json:"os,omitempty" jsonschema:"enum=el8,enum=el9,enum=el10,default=el9" jsonschema_description:"Operating system of the servers: the major version of RHEL or a rebuild."`
	Repositories []Repository `yaml:"repositories" json:"repositories,omitempty" jsonschema_description:"dnf repositories for packages."`
	Modules      []string     `yaml:"modules" json:"modules,omitempty" jsonschema_description:"Module streams to use in addition to the default streams: NAME:STREAM."`
	Install      []string     `yaml:"install" json:"install,omitempty" jsonschema_description:"Packages to install in addition to those that Kubernetes needs: NAME, NAME.ARCH, NAME-VERSION, NAME-VERSION-RELEASE or NAME-VERSION-RELEASE.ARCH. VERSION can begin with an epoch, as in 1:2.0. The parts after NAME can contain the wildcards * and ?. NAME can be a capability that packages provide."`
}

// Repository is one upstream dnf repository.
type Repository struct {
	Name    string `yaml:"name" json:"name" jsonschema:"required,pattern=^[a-z0-9][a-z0-9._-]*$" jsonschema_description:"Short name for reports."`
	BaseURL string `yaml:"baseURL" json:"baseURL,omitempty" jsonschema_description:"URL of the directory that contains repodata/: https, http, or file:///DIRECTORY for a mounted ISO or a local copy. Set this, mirrorList or metalink. In all three, and in gpgKeys, $releasever, $basearch and the variables of /etc/dnf/vars have their values on the surveyed servers."`
	// MirrorList and Metalink list such directories.
	MirrorList string   `yaml:"mirrorList" json:"mirrorList,omitempty" jsonschema_description:"URL of a list of such directories, one per line. airgap uses the first that responds."`
	Metalink   string   `yaml:"metalink" json:"metalink,omitempty" jsonschema_description:"URL of a metalink file for repomd.xml, with mirrors and the permitted checksums."`
	GPGKeys    []string `yaml:"gpgKeys" json:"gpgKeys" jsonschema:"required" jsonschema_description:"Public keys of the vendor: URLs, or file paths relative to airgap.yaml."`
	Signed     string   `yaml:"signedMetadata" json:"signedMetadata,omitempty" jsonschema:"enum=required,enum=optional" jsonschema_description:"Signature of repomd.xml by one of gpgKeys: required or optional. Default: required after airgap.lock has recorded a signature."`
	Checksums  string   `yaml:"checksums" json:"checksums,omitempty" jsonschema:"enum=sha256,enum=sha1" jsonschema_description:"Weakest checksums that are accepted in the metadata: sha256, or sha1 for an old repository without others. airgap.lock and the bundle have SHA-256. Default: sha256."`
	Login      Login    `yaml:"login" json:"login,omitzero" jsonschema_description:"User name and password, or client certificate, for the repository. airgap sends them only to the repository, or to its mirror in sources.rewrite."`
}

// Values of Repository.Checksums.
const (
	ChecksumsSHA256 = "sha256"
	ChecksumsSHA1   = "sha1"
)

// Login authenticates airgap at a repository. It only refers to passwords,
// because the bundle contains this file. Paths are relative to the directory
// of airgap.yaml.
type Login struct {
	ClientCert   string `yaml:"clientCert" json:"clientCert,omitempty" jsonschema_description:"PEM file with a client certificate. Red Hat subscriptions have it in /etc/pki/entitlement."`
	ClientKey    string `yaml:"clientKey" json:"clientKey,omitempty" jsonschema_description:"PEM file with the key of the certificate, if it is in another file."`
	Username     string `yaml:"username" json:"username,omitempty" jsonschema_description:"User name for HTTP basic authentication."`
	PasswordFile string `yaml:"passwordFile" json:"passwordFile,omitempty" jsonschema_description:"File with the password of this user."`
	PasswordEnv  string `yaml:"passwordEnv" json:"passwordEnv,omitempty" jsonschema_description:"Environment variable with the password of this user."`
}

// Files are the fields that name files.
func (l *Login) Files() []*string { return []*string{&l.ClientCert, &l.ClientKey, &l.PasswordFile} }

// Validate reports fields that contradict each other.
func (l Login) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if l.ClientKey != "" && l.ClientCert == "" {
		all = append(all, field.Required(at.Child("clientCert"), "set the certificate of clientKey"))
	}
	if (l.PasswordFile != "" || l.PasswordEnv != "") && l.Username == "" {
		all = append(all, field.Required(at.Child("username"), "set the user of the password"))
	}
	if l.PasswordFile != "" && l.PasswordEnv != "" {
		all = append(all, field.Forbidden(at.Child("passwordEnv"), "set passwordFile or passwordEnv, not both"))
	}
	return all
}

// validateFor validates the login of the repository below baseURL.
func (l Login) validateFor(baseURL string, at *field.Path) field.ErrorList {
	var all field.ErrorList
	switch {
	case l == Login{}:
	case baseURL == "":
		all = append(all, field.Forbidden(at, "allowed only with baseURL: airgap sends no login to the mirrors of a list"))
	case isFileURL(baseURL):
		all = append(all, field.Forbidden(at, "a file:// repository has no login"))
	case !strings.HasPrefix(baseURL, "https://"):
		all = append(all, field.Forbidden(at, "allowed only with https: http sends the login unencrypted"))
	}
	return append(all, l.Validate(at)...)
}

// ValidateChart validates the login at a chart repository: an https or oci:// URL.
func (l Login) ValidateChart(repository string, at *field.Path) field.ErrorList {
	all := l.Validate(at)
	if l.ClientCert != "" && strings.HasPrefix(repository, "oci://") {
		all = append(all, field.Forbidden(at.Child("clientCert"), "registries get a user name and a password: set username, and passwordFile or passwordEnv"))
	}
	return all
}

// Fetcher opens an upstream URL for reading from a byte offset. The size is
// the size of the whole file in bytes, -1 if the server does not report it.
// If the server reports that the file does not exist, errors.Is matches the
// error with fs.ErrNotExist.
type Fetcher interface {
	Open(ctx context.Context, url string, offset int64) (body io.ReadCloser, size int64, err error)
}

// Request is the input of Plan.
type Request struct {
	OS           string // one of enterprise.Names
	Arch         string // x86_64, aarch64
	Repositories []Repository
	Modules      []string // NAME:STREAM
	Install      []string
	// Wanted lists packages that Plan adds for the servers on which they have a solution. It is no problem if a
	// repository does not have them.
	Wanted []string
	// Only has the additional packages of single servers, by host.
	Only map[string]Extra
	// Plain lists modules that Plan treats as ordinary packages: it ignores their
	// streams and selects by version.
	Plain []string
	// Hosts lists the installed packages of each surveyed server. If it is empty, Plan
	// uses the profile of a minimal installation of OS.
	Hosts []Installed
	// Assumed lists servers without a survey while other servers have one. Plan uses
	// the profile for them.
	Assumed []string
	// Locked lists the packages of an earlier plan. Plan chooses them again where they
	// are still possible.
	Locked []Locked
	// Kept are locked packages of an earlier bundle. Plan can choose them also if their
	// repository has removed them.
	Kept []Kept
	// Seen has the state of the repositories at an earlier plan.
	Seen []Seen
	// Cache is a directory that keeps the metadata files of the repositories between plans; "": none.
	Cache string
}

// Locked is a package of an earlier plan with the checksum of its file.
type Locked struct {
	nevra.NEVRA
	SHA256 string
}

// Default sets the fields that have no value.
func (c *Config) Default() {
	if c.OS == "" {
		c.OS = enterprise.Usual
	}
}

// Validate reports every problem of the section at once.
func (c Config) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if oses := enterprise.Names(); !slices.Contains(oses, c.OS) {
		all = append(all, field.NotSupported(at.Child("os"), c.OS, oses))
	}
	seen := map[string]bool{}
	for i, r := range c.Repositories {
		item := at.Child("repositories").Index(i)
		if seen[r.Name] {
			all = append(all, field.Duplicate(item.Child("name"), r.Name))
		}
		seen[r.Name] = true
		all = append(all, r.validate(item)...)
	}
	for i, name := range c.Modules {
		if !moduleStream.MatchString(name) {
			all = append(all, field.Invalid(at.Child("modules").Index(i), name, "expected NAME:STREAM"))
		}
	}
	for i, spec := range c.Install {
		if !installSpec.MatchString(spec) {
			all = append(all, field.Invalid(at.Child("install").Index(i), spec, "expected NAME, NAME.ARCH, NAME-VERSION, NAME-VERSION-RELEASE or NAME-VERSION-RELEASE.ARCH"))
		}
	}
	if len(c.Install) > 0 && len(c.Repositories) == 0 {
		all = append(all, field.Required(at.Child("repositories"), "packages.install needs at least one repository"))
	}
	return all
}

func (r Repository) validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if !repositoryName.MatchString(r.Name) {
		all = append(all, field.Invalid(at.Child("name"), r.Name, "expected lower-case letters, digits, dots, dashes"))
	}
	named := 0
	for _, where := range []struct{ child, value string }{{"baseURL", r.BaseURL}, {"mirrorList", r.MirrorList}, {"metalink", r.Metalink}} {
		if where.value == "" {
			continue
		}
		if named++; !isURL(where.value) && (where.child != "baseURL" || !isFileURL(where.value)) {
			all = append(all, field.Invalid(at.Child(where.child), where.value, "expected https://HOST/PATH, or for baseURL file:///DIRECTORY"))
		}
		if isRHUI(where.value) {
			all = append(all, field.Invalid(at.Child(where.child), where.value, unsupportedRHUI))
		}
	}
	if named != 1 {
		all = append(all, field.Required(at.Child("baseURL"), "set exactly one of baseURL, mirrorList and metalink"))
	}
	if signed := []string{SignedRequired, SignedOptional}; r.Signed != "" && !slices.Contains(signed, r.Signed) {
		all = append(all, field.NotSupported(at.Child("signedMetadata"), r.Signed, signed))
	}
	if sums := []string{ChecksumsSHA256, ChecksumsSHA1}; r.Checksums != "" && !slices.Contains(sums, r.Checksums) {
		all = append(all, field.NotSupported(at.Child("checksums"), r.Checksums, sums))
	}
	all = append(all, r.Login.validateFor(r.BaseURL, at.Child("login"))...)
	if len(r.GPGKeys) == 0 {
		all = append(all, field.Required(at.Child("gpgKeys"), "airgap verifies every package: name the vendor's public key"))
	}
	for i, key := range r.GPGKeys {
		if strings.Contains(key, "://") && !isURL(key) && !strings.HasPrefix(key, "file:///") || key == "" {
			all = append(all, field.Invalid(at.Child("gpgKeys").Index(i), key, "expected https://HOST/PATH or the path of a file"))
		}
	}
	return all
}

// The patterns allow only the characters that rpm allows, so that a name is
// safe in a path, on a command line and in XML.
var (
	repositoryName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)
	installSpec    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+~^:*?\[\]-]*$`)
	moduleStream   = regexp.MustCompile(`^[A-Za-z0-9._+-]+:[A-Za-z0-9._+-]+$`)
)

// isURL reports whether s is the URL of a web server, without a login. The scheme is in lower case, so that a prefix shows
// it. url.Parse accepts control characters in the fragment, which has no meaning here.
func isURL(s string) bool {
	u, err := url.Parse(s)
	web := strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
	return err == nil && web && u.Host != "" && u.User == nil && !strings.Contains(s, "#")
}

// keyFile returns the path of a key that is a file, and false for a URL.
func keyFile(name string) (string, bool) {
	if path, ok := strings.CutPrefix(name, "file://"); ok {
		return path, true
	}
	return filepath.Clean(name), !strings.Contains(name, "://")
}
