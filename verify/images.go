package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"airgap.dev/airgap/verify/imagecache"
	"airgap.dev/airgap/verify/result"
)

const imagesID = "images"

func runningImages(look func(imagecache.Image) imagecache.Answer) rule {
	return rule{
		id: imagesID, title: "Every running image is in the registry", watches: []kind{pods},
		judge: func(v view) []Finding { return judgeImages(v, look) }, expects: expectImages,
	}
}

// lookUpImages asks for the images of running containers as soon as the pods are listed, while
// other kinds are still listed.
func lookUpImages(ctx context.Context, listed []*informer, images *imagecache.Cache) {
	for _, one := range listed {
		select {
		case <-one.shared.HasSyncedChecker().Done():
		case <-ctx.Done():
			return
		}
		for _, id := range one.shared.GetIndexer().ListIndexFuncValues(byImage) {
			if img, err := imagecache.Parse(id); err == nil {
				images.Look(img)
			}
		}
	}
}

// expectImages expects a running container. A namespace may have none.
func expectImages(v view) expectation {
	if len(v.values(pods, byImage)) > 0 {
		return expectation{}
	}
	return expectation{nothing: "no container runs"}
}

// judgeImages returns one finding for each image, however many containers run it, and one
// finding for a registry that does not answer.
func judgeImages(v view, look func(imagecache.Image) imagecache.Answer) []Finding {
	var findings []Finding
	var silent []imagecache.Image
	var reason error
	for _, id := range v.values(pods, byImage) {
		img, err := imagecache.Parse(id)
		if err != nil {
			findings = append(findings, Finding{
				Object: "Image " + id, Saw: err.Error() + usedBy(v, id), Want: "found by digest",
				Fix: "remove the image from the node; the kubelet pulls it again",
			})
			continue
		}
		switch a := look(img); a.State {
		case imagecache.Missing:
			findings = append(findings, Finding{
				Object: "Image " + img.String(), Saw: "it is not in the registry" + usedBy(v, id), Want: "found by digest",
				Fix: "add it to images: in airgap.yaml, make a new bundle (airgap bundle) and import it (airgap registry import); for the site's own registry, use airgap push",
			})
		case imagecache.Unknown:
			silent = append(silent, img)
			reason = cmp.Or(reason, a.Err)
		}
	}
	if len(silent) > 0 {
		findings = append(findings, registrySilent(silent, reason))
	}
	return findings
}

func registrySilent(asked []imagecache.Image, reason error) Finding {
	saw := "no answer yet about " + result.Plural(len(asked), "image")
	if reason != nil {
		saw = fmt.Sprintf("no answer about %s: %v", result.Plural(len(asked), "image"), reason)
	}
	return Finding{Object: "Registry", Saw: saw, Want: "an answer about every running image", Fix: "airgap registry status; for the site's own registry, ask its operators", Early: reason == nil}
}

// usedBy lists the pods that run an image.
func usedBy(v view, id string) string {
	var names []string
	for _, p := range by[*keptPod](v, pods, byImage, id) {
		names = append(names, p.namespace+"/"+p.name)
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; it runs in " + result.Abbreviate(names)
}
