package bundle_test

import (
	"fmt"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

type desc = ocispec.Descriptor

func shapes() []shape {
	return slices.Concat(typeShapes(), platformShapes(), nestedShapes(), untypedShapes(), sizeShapes(), layerShapes(), artifactShapes(), brokenShapes())
}

// typeShapes have different and missing media types.
func typeShapes() []shape {
	var all []shape
	add := func(name string, build func(*shelf) desc) {
		all = append(all, shape{name: name, build: build})
	}
	for kind, image := range map[string]func(*shelf, string) desc{
		"oci":    func(s *shelf, p string) desc { return s.image(p) },
		"docker": (*shelf).docker,
		"oci without a media type in the body": func(s *shelf, p string) desc {
			return s.image(p, func(m *manifestOf) { m.MediaType = "" })
		},
	} {
		add("a manifest of "+kind, func(s *shelf) desc { return image(s, "linux/amd64") })
		for list, mediaType := range map[string]string{"oci": ociIndex, "docker": dockerList, "nameless": ""} {
			add(fmt.Sprintf("a %s index of %s", list, kind), func(s *shelf) desc {
				x := map[string]any{"schemaVersion": 2, "manifests": []desc{on("linux/arm64", image(s, "linux/arm64")), on("linux/amd64", image(s, "linux/amd64"))}}
				if mediaType != "" {
					x["mediaType"] = mediaType
				}
				return s.json(cmpOr(mediaType, ociIndex), x)
			})
		}
	}
	for _, header := range []string{"application/json", "application/octet-stream", "text/plain; charset=utf-8", ociManifest + "; charset=utf-8"} {
		add("a manifest with Content-Type "+header, func(s *shelf) desc {
			s.typed = header
			return s.image("linux/amd64")
		})
	}
	add("a manifest that the registry calls an index", func(s *shelf) desc {
		d := s.image("linux/amd64")
		s.typed = ociIndex
		return d
	})
	return all
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// platformShapes test the choice of the entry that runs on an x86-64 server.
func platformShapes() []shape {
	var all []shape
	const none = "not available for linux/amd64, only for "
	for _, tc := range []struct {
		entries string // space separated, in order
		refused string
	}{
		{"linux/amd64", ""},
		{"linux/arm64 linux/amd64", ""},
		{"linux/amd64/v1", ""},
		{"linux/x86_64", ""},
		{"linux/x86-64", ""},
		{"Linux/AMD64", ""},
		{"linux/amd64 linux/amd64/v2 linux/amd64/v3", ""},
		{"linux/amd64/v3 linux/amd64/v2 linux/amd64", ""},
		{"linux/amd64/v3 linux/amd64/v1", ""},
		{"linux/amd64/v1 linux/amd64", ""},
		{"linux/amd64 linux/amd64/v1", ""},
		{"linux/x86_64/v1 linux/amd64/v3", ""},
		{"linux/386 linux/amd64", ""},
		{"linux/amd64 linux/386", ""},
		{"linux/amd64 unknown/unknown", ""},
		{"unknown/unknown linux/amd64 unknown/unknown linux/arm64/v8", ""},
		{"windows/amd64 linux/amd64", ""},
		{"linux/amd64/v2", none + "linux/amd64/v2"},
		{"linux/amd64/v3", none + "linux/amd64/v3"},
		{"linux/amd64/v2 linux/amd64/v3", none + "linux/amd64/v2 and linux/amd64/v3"},
		{"linux/amd64/v4 linux/arm64", none + "linux/amd64/v4 and linux/arm64"},
		{"linux/amd64/avx2", none + "linux/amd64/avx2"},
		{"linux/386", none + "linux/386: containerd fetches none of them"},
		{"linux/i386", none + "linux/i386: containerd fetches none of them"},
		{"linux/arm64", none + "linux/arm64"},
		{"linux/arm64/v8 linux/arm/v7", none + "linux/arm/v7 and linux/arm64/v8"},
		{"linux/arm64 unknown/unknown", none + "linux/arm64"},
		{"windows/amd64", none + "windows/amd64"},
		{"darwin/amd64 linux/s390x", none + "darwin/amd64 and linux/s390x"},
		{"unknown/unknown", "the index lists no image for any platform"},
		{"", "the index lists no image for any platform"},
		{
			"linux/riscv64 linux/ppc64le linux/s390x linux/arm/v5 linux/arm/v6 linux/arm/v7 linux/mips64le linux/loong64 freebsd/amd64 solaris/amd64 aix/ppc64 plan9/386 netbsd/amd64 openbsd/amd64",
			"and 2 more",
		},
	} {
		all = append(all, shape{name: "an index for " + cmpOr(tc.entries, "nothing"), refused: tc.refused, build: func(s *shelf) desc {
			entries := []desc{}
			for p := range strings.FieldsSeq(tc.entries) {
				entries = append(entries, on(p, s.image(strings.Join(strings.Split(p, "/")[:2], "/"))))
			}
			return s.index(entries...)
		}})
	}
	two := func(name string, a, b func(*ocispec.Platform), refused string) {
		all = append(all, shape{name: name, refused: refused, build: func(s *shelf) desc {
			return s.index(on("linux/amd64", s.image("linux/amd64"), a), on("linux/amd64", s.image("linux/amd64"), b))
		}})
	}
	nothing := func(*ocispec.Platform) {}
	two("two entries for one platform", nothing, nothing, "")
	two("an entry with os.version first", osVersion("5.14"), nothing, "")
	two("an entry with os.version second", nothing, osVersion("5.14"), "")
	two("an entry with os.features first", osFeatures("sse4"), nothing, "")
	two("an entry with os.features second", nothing, osFeatures("sse4"), "")
	two("entries with os.features only", osFeatures("sse4"), osFeatures("avx"), none)
	for _, tc := range []struct{ config, refused string }{
		{"linux/amd64", ""}, {"linux/amd64/v1", ""}, {"linux/amd64/v3", ""}, {"linux/x86_64", ""}, {"/amd64", ""}, {"linux", ""}, {"", ""}, {"linux/386", ""},
		{"linux/arm64", "is for linux/arm64 only, want linux/amd64"}, {"windows/amd64", "is for windows/amd64 only"}, {"linux/aarch64", "is for linux/arm64 only"},
	} {
		all = append(all, shape{name: "no index, its configuration is for " + cmpOr(tc.config, "nothing"), refused: tc.refused, pulls: true,
			build: func(s *shelf) desc { return s.image(tc.config) }})
		if tc.config == "" || tc.config == "linux" {
			continue
		}
		// Without a platform in the entry, the configuration decides; with one, the entry decides.
		refused := tc.refused
		switch tc.config {
		case "linux/amd64/v3":
			refused = "of several entries without a platform, containerd checks only the first, and "
		case "linux/arm64", "windows/amd64", "linux/aarch64":
			refused = "only for an entry without a platform: of several entries"
		}
		all = append(all, shape{name: "an entry without a platform for " + tc.config, refused: refused,
			build: func(s *shelf) desc { return s.index(s.image(tc.config)) }})
		all = append(all, shape{name: "an entry for linux/amd64 with a configuration for " + tc.config,
			build: func(s *shelf) desc { return s.index(on("linux/amd64", s.image(tc.config))) }})
	}
	add := func(name, refused string, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, build: build})
	}
	add("an entry without a platform after one with", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), s.image("linux/arm64"))
	})
	add("an entry without a platform before one with", "", func(s *shelf) desc {
		return s.index(s.image("linux/arm64"), on("linux/amd64", s.image("linux/amd64")))
	})
	add("entries without a platform, amd64 second", "checks only the first", func(s *shelf) desc {
		return s.index(s.image("linux/arm64"), s.image("linux/amd64"))
	})
	add("entries without a platform, amd64 first", "", func(s *shelf) desc {
		return s.index(s.image("linux/amd64"), s.image("linux/arm64"))
	})
	add("386 before an entry without a platform", "containerd fetches none of them", func(s *shelf) desc {
		return s.index(on("linux/386", s.image("linux/386")), s.image("linux/amd64"))
	})
	return all
}

// nestedShapes are indexes in indexes.
func nestedShapes() []shape {
	var all []shape
	add := func(name, refused string, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, build: build})
	}
	for _, depth := range []int{1, 2, 5, 14} {
		add(fmt.Sprintf("%d indexes around an image", depth+1), "", func(s *shelf) desc {
			d := s.index(on("linux/arm64", s.image("linux/arm64")), on("linux/amd64", s.image("linux/amd64")))
			for range depth {
				d = s.index(d)
			}
			return d
		})
	}
	add("a nested index with a platform", "", func(s *shelf) desc {
		return s.index(on("linux/arm64", s.index(s.image("linux/arm64"))), on("linux/amd64", s.index(on("linux/amd64", s.image("linux/amd64")))))
	})
	add("a nested Docker list", "", func(s *shelf) desc {
		inner := s.json(dockerList, map[string]any{"schemaVersion": 2, "mediaType": dockerList, "manifests": []desc{on("linux/amd64", s.docker("linux/amd64"))}})
		return s.index(inner)
	})
	add("a nested index for another platform", "not available for linux/amd64", func(s *shelf) desc {
		return s.index(on("linux/arm64", s.index(on("linux/amd64", s.image("linux/amd64")))))
	})
	add("a nested index without linux/amd64 first", "not available for linux/amd64, only for linux/arm64", func(s *shelf) desc {
		return s.index(s.index(on("linux/arm64", s.image("linux/arm64"))), s.index(on("linux/amd64", s.image("linux/amd64"))))
	})
	add("the same nested index twice", "", func(s *shelf) desc {
		inner := s.index(on("linux/amd64", s.image("linux/amd64")))
		return s.index(inner, inner)
	})
	for height, refused := range map[int]string{6: "", 13: "refers to more than 10000 blobs"} {
		add(fmt.Sprintf("a diamond of indexes, %d high", height), refused, func(s *shelf) desc {
			d := s.index(on("linux/amd64", s.image("linux/amd64")))
			for range height {
				d = s.index(d, d, d)
			}
			return d
		})
	}
	add("a thousand entries for other platforms", "", func(s *shelf) desc {
		entries := []desc{on("linux/amd64", s.image("linux/amd64"))}
		for range 1000 {
			entries = append(entries, on("linux/s390x", entries[0]))
		}
		return s.index(entries...)
	})
	add("an attestation next to the image", "", func(s *shelf) desc {
		statement := s.bytes("application/vnd.in-toto+json", []byte(`{"_type":"x"}`))
		attestation := s.json(ociManifest, manifestOf{2, ociManifest, "", s.config(ociConfig, "unknown/unknown", 1), []desc{statement}, nil})
		return s.index(on("linux/amd64", s.image("linux/amd64")), on("unknown/unknown", with(attestation, func(d *desc) {
			d.Annotations = map[string]string{"vnd.docker.reference.type": "attestation-manifest"}
		})))
	})
	add("an attestation without a platform", "", func(s *shelf) desc {
		statement := s.bytes("application/vnd.in-toto+json", []byte(`{"_type":"x"}`))
		return s.index(on("linux/amd64", s.image("linux/amd64")), s.json(ociManifest, manifestOf{2, ociManifest, "", s.config(ociConfig, "", 0), []desc{statement}, nil}))
	})
	all = append(all, shape{name: "indexes nested 30 deep", refused: "nested deeper than 16 levels", pulls: true, build: func(s *shelf) desc {
		d := s.image("linux/amd64")
		for range 30 {
			d = s.index(d)
		}
		return d
	}})
	return all
}

// untypedShapes have entries with a missing or unknown media type.
func untypedShapes() []shape {
	var all []shape
	add := func(name, refused string, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, build: build})
	}
	takes := "containerd uses the entry sha256:"
	add("the only entry has no media type", takes, func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.image("linux/amd64"), untyped)))
	})
	add("neither media type nor platform", takes, func(s *shelf) desc {
		return s.index(with(s.image("linux/amd64"), untyped))
	})
	add("an entry without a media type for another platform", "", func(s *shelf) desc {
		return s.index(on("linux/arm64", with(s.image("linux/arm64"), untyped)), on("linux/amd64", s.image("linux/amd64")))
	})
	add("an entry without a media type after the chosen one", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), on("linux/amd64", with(s.image("linux/amd64"), untyped)))
	})
	add("an entry without media type and platform after the chosen one", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), with(s.image("linux/arm64"), untyped))
	})
	add("an entry of an unknown type that runs", takes, func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.image("linux/amd64"), func(d *desc) { d.MediaType = "application/x.manifest" })))
	})
	add("an index that is listed as a manifest", "is listed as "+ociManifest+" but is "+ociIndex, func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.index(on("linux/amd64", s.image("linux/amd64"))), func(d *desc) { d.MediaType = ociManifest })))
	})
	add("a manifest that is listed as an index", "is listed as "+ociIndex+" but is "+ociManifest, func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.image("linux/amd64"), func(d *desc) { d.MediaType = ociIndex })))
	})
	add("a Docker manifest that is listed as OCI's", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.docker("linux/amd64"), func(d *desc) { d.MediaType = ociManifest })))
	})
	return all
}
