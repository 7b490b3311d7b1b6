package clients

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"airgap.dev/airgap/e2e/scenario"
)

// suite is the program with the tests of the distribution specification.
const suite = "github.com/opencontainers/distribution-spec/conformance@v0.0.0-20260831232431-97274622c111"

// declared are parts of the names of tests that airgap's registry fails by design: docs/design.md
// lists them as not supported. "sparse" has the tests of indexes and of images.
func declared() []string { return []string{"sha512", "non-distributable", "/sparse/"} }

// sparseImage is the number of tests of an image without its layers, which the registry refuses. Those of an index without
// its manifests pass.
const sparseImage = 7

// suiteRun is one run of the tests.
type suiteRun struct {
	title    string
	env      []string
	judged   bool // it must have no failures but the declared ones
	declared int  // the number of those
}

// Conformance runs the specification's tests on repositories of pushed images, on repositories of a
// bundle, and, for comparison, on registry:3.
func Conformance(ctx context.Context, e *scenario.Env) error {
	var s *site
	var failed []error
	err := e.InOrder([]scenario.Part{
		{Title: "a bundle and two registries", Run: func() (err error) { s, err = newSite(ctx, e); return err }},
		{Title: "the tests are built", Run: func() error { return s.install(ctx, "", suite) }},
		{Title: "the tests run", Run: func() (err error) { failed, err = s.conformance(ctx); return err }},
		{Title: "results", Run: func() error { return errors.Join(failed...) }},
	})
	if s != nil {
		err = errors.Join(err, s.stop())
	}
	return err
}

func (s *site) conformance(ctx context.Context) (failed []error, err error) {
	pushed := func(prefix string, env ...string) []string {
		return append(env, "OCI_REGISTRY="+s.ours, "OCI_REPO1="+prefix+"one", "OCI_REPO2="+prefix+"two",
			"OCI_USERNAME="+scenario.Pusher, "OCI_PASSWORD="+s.password)
	}
	runs := []suiteRun{
		{"pushed repositories", pushed("team/"), true, 87},
		{"pushed repositories, sparse indexes", pushed("sparse/", "OCI_DATA_SPARSE=true"), true, 87 + sparseImage},
	}
	for _, image := range []string{"docker.io/library/hello:1.0", "quay.io/lab/tools:1.0"} {
		env, err := s.readOnly(ctx, image)
		if err != nil {
			return nil, err
		}
		runs = append(runs, suiteRun{"the bundle's " + image, env, true, 0})
	}
	runs = append(runs, suiteRun{"registry:3", []string{"OCI_REGISTRY=" + s.theirs, "OCI_REPO1=team/one", "OCI_REPO2=team/two"}, false, 0})
	for i, r := range runs {
		if err := s.suite(ctx, r, filepath.Join(s.Work, fmt.Sprint("conformance", i))); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", r.title, err))
		}
	}
	return failed, ctx.Err()
}

// readOnly is the environment for an image that cannot be pushed or deleted.
func (s *site) readOnly(ctx context.Context, image string) ([]string, error) {
	at, err := name.ParseReference(s.ours + "/" + image)
	if err != nil {
		return nil, err
	}
	held, err := remote.Image(at, append(s.options(ctx), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"}))...)
	if err != nil {
		return nil, err
	}
	digest, err := held.Digest()
	if err != nil {
		return nil, err
	}
	manifest, err := held.Manifest()
	if err != nil {
		return nil, err
	}
	blobs := []string{manifest.Config.Digest.String()}
	for _, l := range manifest.Layers {
		blobs = append(blobs, l.Digest.String())
	}
	return []string{
		"OCI_REGISTRY=" + s.ours, "OCI_REPO1=" + at.Context().RepositoryStr(), "OCI_REPO2=" + at.Context().RepositoryStr(),
		"OCI_API_PUSH=false", "OCI_API_BLOBS_DELETE=false", "OCI_API_MANIFESTS_DELETE=false", "OCI_API_TAGS_DELETE=false",
		"OCI_RO_DATA_TAGS=" + at.Identifier(), "OCI_RO_DATA_MANIFESTS=" + digest.String(),
		"OCI_RO_DATA_BLOBS=" + strings.Join(blobs, " "), "OCI_RO_DATA_REFERRERS=" + digest.String(),
	}, nil
}

// suite runs the tests, prints their number and returns the failures that are not declared.
func (s *site) suite(ctx context.Context, r suiteRun, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin(), "conformance"))
	cmd.Dir = dir
	cmd.Env = append(s.environment(dir), append([]string{"OCI_RESULTS_DIR=" + dir, "OCI_VERSION=1.1"}, r.env...)...)
	out, runErr := cmd.CombinedOutput() // it fails if a test fails
	cases, err := results(dir, string(out))
	if err != nil {
		return errors.Join(runErr, err, errors.New(string(out)))
	}
	passed, known, failures := sorted(cases)
	fmt.Fprintf(s.Log, "  %-40s %4d passed, %3d declared failures, %3d others, of %d\n", r.title, passed, known, len(failures), len(cases))
	switch {
	case !r.judged:
		return nil
	case passed == 0:
		return fmt.Errorf("no test has passed:\n%s", out)
	case known != r.declared:
		failures = append(failures, fmt.Errorf("%d declared failures, want %d: read which tests have changed", known, r.declared))
	}
	return errors.Join(failures...)
}

type testCase struct {
	Name   string `xml:"name,attr"`
	Status string `xml:"status,attr"`
	Output string `xml:"system-out"`
}

// printed is a result in the output of the suite.
var printed = regexp.MustCompile(`(?m)^ *(OCI Conformance Test(?:/.+)?): (Pass|FAIL|Error)$`)

// results reads junit.xml. With read-only data the suite panics before it writes this file, after it has printed all
// results.
func results(dir, out string) ([]testCase, error) {
	text, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if errors.Is(err, fs.ErrNotExist) && strings.Contains(out, "OCI Conformance Result: ") {
		var cases []testCase
		for _, m := range printed.FindAllStringSubmatch(out, -1) {
			status := map[string]string{"Pass": "passed", "FAIL": "failure", "Error": "error"}[m[2]]
			cases = append(cases, testCase{Name: m[1], Status: status})
		}
		return cases, nil
	}
	if err != nil {
		return nil, err
	}
	var report struct {
		Cases []testCase `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("read junit.xml: %w", err)
	}
	return report.Cases, nil
}

// sorted counts the tests that passed and the declared failures, and returns the others.
func sorted(cases []testCase) (passed, known int, failures []error) {
	for _, c := range cases {
		isDeclared := false
		for _, part := range declared() {
			isDeclared = isDeclared || strings.Contains(c.Name, part)
		}
		switch {
		case c.Status == "passed":
			passed++
		case c.Status != "failure" && c.Status != "error":
		case isDeclared:
			known++
		default:
			failures = append(failures, fmt.Errorf("%s: %s", c.Name, c.Output))
		}
	}
	return passed, known, failures
}
