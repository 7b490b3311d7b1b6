package workload_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/distribution/reference"

	"airgap.dev/airgap/bundle/workload"
)

// Limits for the corpus: at least 85 of 95 images that pods pull at run time are
// found, and at most 5 of 100 found images are not needed.
const (
	wantFound     = 85.0 / 95
	wantNotNeeded = 0.05
)

// shape is a file of the corpus: objects similar to a real chart's, with the images
// that pods pull and that are not in the containers of its objects.
type shape struct {
	name       string
	objects    []workload.Object
	needed     []string
	lookalikes []string // texts that are not images, or images that no pod pulls
}

func corpus(t testing.TB) []shape {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.yaml")
	must(t, err)
	var all []shape
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		objects, err := workload.Parse(file, text)
		must(t, err)
		s := shape{name: strings.TrimSuffix(filepath.Base(file), ".yaml"), objects: objects}
		for _, m := range regexp.MustCompile(`(?m)^# (needed|lookalike): (.*)$`).FindAllStringSubmatch(string(text), -1) {
			if m[1] == "needed" {
				s.needed = append(s.needed, fullName(t, m[2]))
			} else {
				s.lookalikes = append(s.lookalikes, m[2])
			}
		}
		all = append(all, s)
	}
	return all
}

func fullName(t testing.TB, image string) string {
	t.Helper()
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		t.Fatalf("%q: %v", image, err)
	}
	return withoutTag(reference.TagNameOnly(named).String())
}

// withoutTag removes the tag of a reference with a digest.
func withoutTag(image string) string {
	name, digest, has := strings.Cut(image, "@")
	if !has {
		return image
	}
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		name = name[:at]
	}
	return name + "@" + digest
}

// TestCorpus counts the found images of the corpus. It does not ask registries: each
// text that looks like an image and is not needed counts as not needed.
func TestCorpus(t *testing.T) {
	needed, found, sureFound, notNeeded := 0, 0, 0, 0
	for _, s := range corpus(t) {
		sure, err := workload.Images(s.objects, "shop")
		must(t, err)
		likely, unread := workload.Likely(s.objects, "shop")
		if len(unread) > 0 {
			t.Errorf("%s: unread: %q", s.name, unread)
		}
		var got, inPods []string
		for _, r := range sure {
			got = append(got, fullName(t, r.Image))
			inPods = append(inPods, fullName(t, r.Image))
		}
		for _, c := range likely {
			if slices.Contains(s.lookalikes, c.Image) {
				t.Logf("%s: %s looks like an image: %s", s.name, c.Image, c.Where)
			}
			image := fullName(t, c.Image)
			got = append(got, image)
			switch {
			case slices.Contains(s.needed, image) || slices.Contains(inPods, image) || slices.Contains(s.needed, c.Or):
			case c.Untagged:
				t.Logf("%s: without a tag: %s, %s", s.name, c.Image, c.Where)
			default:
				notNeeded++
				t.Logf("%s: not needed: %s, %s", s.name, c.Image, c.Where)
			}
			if c.Or != "" {
				got = append(got, fullName(t, c.Or))
			}
		}
		for _, image := range s.needed {
			needed++
			if slices.Contains(inPods, image) {
				sureFound++
			}
			if slices.Contains(got, image) {
				found++
			} else {
				t.Logf("%s: missing: %s", s.name, image)
			}
		}
	}
	t.Logf("%d of %d found, %d only by tables and pod templates; %d not needed", found, needed, sureFound, notNeeded)
	if float64(found) < wantFound*float64(needed) {
		t.Errorf("%d of %d images are found", found, needed)
	}
	if float64(notNeeded) > wantNotNeeded*float64(found) {
		t.Errorf("no pod needs %d of %d candidates", notNeeded, found)
	}
}
