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

// Limits of what is found in the corpus: at least 85 of 95 images that pods
// pull at run time, at most 5 of 100 that no pod needs.
const (
	wantFound     = 85.0 / 95
	wantNotNeeded = 0.05
)

// shape is a file of the corpus: objects in the shape of a real chart's, with
// the images that its pods pull outside of the containers of its own objects.
type shape struct {
	name       string
	objects    []workload.Object
	needed     []string
	lookalikes []string // texts that are no images, or none that a pod pulls
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

// withoutTag is what a digest makes of a tag: nothing that counts.
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

// TestCorpus counts what is found of the corpus. That a registry has an image
// is not asked: whatever looks like one and is not needed counts against us.
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
				t.Logf("%s: names no tag: %s, %s", s.name, c.Image, c.Where)
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
	t.Logf("%d of %d found, %d by tables and pod templates alone; %d not needed", found, needed, sureFound, notNeeded)
	if float64(found) < wantFound*float64(needed) {
		t.Errorf("%d of %d images are found", found, needed)
	}
	if float64(notNeeded) > wantNotNeeded*float64(found) {
		t.Errorf("%d of %d candidates are needed by no pod", notNeeded, found)
	}
}
