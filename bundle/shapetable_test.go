package bundle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

type desc = ocispec.Descriptor

func shapes() []shape {
	return slices.Concat(typeShapes(), platformShapes(), nestedShapes(), untypedShapes(), sizeShapes(), layerShapes(), artifactShapes(), brokenShapes())
}

// typeShapes: what the documents call themselves, and what they leave out.
func typeShapes() []shape {
	var all []shape
	add := func(name string, build func(*shelf) desc) {
		all = append(all, shape{name: name, build: build})
	}
	for kind, image := range map[string]func(*shelf, string) desc{
		"oci":    func(s *shelf, p string) desc { return s.image(p) },
		"docker": (*shelf).docker,
		"oci whose body has no media type": func(s *shelf, p string) desc {
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

// platformShapes: which entry of an index runs on an x86-64 server.
func platformShapes() []shape {
	var all []shape
	const none = "is not there for linux/amd64, only for "
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
		{"linux/386", none + "linux/386: containerd fetches none of these"},
		{"linux/i386", none + "linux/i386: containerd fetches none of these"},
		{"linux/arm64", none + "linux/arm64"},
		{"linux/arm64/v8 linux/arm/v7", none + "linux/arm/v7 and linux/arm64/v8"},
		{"linux/arm64 unknown/unknown", none + "linux/arm64"},
		{"windows/amd64", none + "windows/amd64"},
		{"darwin/amd64 linux/s390x", none + "darwin/amd64 and linux/s390x"},
		{"unknown/unknown", "its index lists no image for any platform"},
		{"", "its index lists no image for any platform"},
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
		// Of an entry without a platform the configuration decides; with one, the entry does.
		refused := tc.refused
		switch tc.config {
		case "linux/amd64/v3":
			refused = "of several entries without a platform containerd looks at the first alone, and "
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
	add("an entry without a platform behind one with", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), s.image("linux/arm64"))
	})
	add("an entry without a platform before one with", "", func(s *shelf) desc {
		return s.index(s.image("linux/arm64"), on("linux/amd64", s.image("linux/amd64")))
	})
	add("entries without a platform, amd64 second", "looks at the first alone", func(s *shelf) desc {
		return s.index(s.image("linux/arm64"), s.image("linux/amd64"))
	})
	add("entries without a platform, amd64 first", "", func(s *shelf) desc {
		return s.index(s.image("linux/amd64"), s.image("linux/arm64"))
	})
	add("386 before an entry without a platform", "containerd fetches none of these", func(s *shelf) desc {
		return s.index(on("linux/386", s.image("linux/386")), s.image("linux/amd64"))
	})
	return all
}

// nestedShapes: indexes within indexes.
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
	add("a nested index for another platform", "is not there for linux/amd64", func(s *shelf) desc {
		return s.index(on("linux/arm64", s.index(on("linux/amd64", s.image("linux/amd64")))))
	})
	add("a nested index without ours, first", "is not there for linux/amd64, only for linux/arm64", func(s *shelf) desc {
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
	add("a thousand entries for others", "", func(s *shelf) desc {
		entries := []desc{on("linux/amd64", s.image("linux/amd64"))}
		for range 1000 {
			entries = append(entries, on("linux/s390x", entries[0]))
		}
		return s.index(entries...)
	})
	add("an attestation beside the image", "", func(s *shelf) desc {
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

// untypedShapes: entries whose media type is missing or nobody's.
func untypedShapes() []shape {
	var all []shape
	add := func(name, refused string, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, build: build})
	}
	takes := "the entry that containerd takes, sha256:"
	add("the only entry has no media type", takes, func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.image("linux/amd64"), untyped)))
	})
	add("neither media type nor platform", takes, func(s *shelf) desc {
		return s.index(with(s.image("linux/amd64"), untyped))
	})
	add("an entry without a media type for others", "", func(s *shelf) desc {
		return s.index(on("linux/arm64", with(s.image("linux/arm64"), untyped)), on("linux/amd64", s.image("linux/amd64")))
	})
	add("an entry without a media type behind ours", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), on("linux/amd64", with(s.image("linux/amd64"), untyped)))
	})
	add("an entry without anything behind ours", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), with(s.image("linux/arm64"), untyped))
	})
	add("an entry of an unknown type that runs", takes, func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.image("linux/amd64"), func(d *desc) { d.MediaType = "application/x.manifest" })))
	})
	add("an index that is listed as a manifest", "is listed as "+ociManifest+" and is "+ociIndex, func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.index(on("linux/amd64", s.image("linux/amd64"))), func(d *desc) { d.MediaType = ociManifest })))
	})
	add("a manifest that is listed as an index", "is listed as "+ociIndex+" and is "+ociManifest, func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.image("linux/amd64"), func(d *desc) { d.MediaType = ociIndex })))
	})
	add("a Docker manifest that is listed as OCI's", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", with(s.docker("linux/amd64"), func(d *desc) { d.MediaType = ociManifest })))
	})
	return all
}

// sizeShapes: what descriptors say, and what is there.
func sizeShapes() []shape {
	var all []shape
	add := func(name, refused string, pulls bool, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, pulls: pulls, build: build})
	}
	for _, size := range []int64{-1, -1 << 62, 0, 1 << 40, 1 << 62} {
		set := func(d *desc) { d.Size = size }
		says, manifest := "is listed with "+fmt.Sprint(size)+" bytes", "has "+fmt.Sprint(size)+" bytes: the servers read at most"
		if size > 0 {
			says = manifest
		}
		layerSays := says
		if size == 1<<40 {
			layerSays = "" // a plan does not ask for the sizes of layers
		}
		if layerSays != "" {
			add(fmt.Sprintf("a layer of %d bytes", size), layerSays, false, func(s *shelf) desc {
				return s.image("linux/amd64", layers(with(s.layer(ociGzip), set)))
			})
		}
		add(fmt.Sprintf("a configuration of %d bytes", size), says, false, func(s *shelf) desc {
			return s.image("linux/amd64", configured(with(s.config(ociConfig, "linux/amd64", 1), set)))
		})
		add(fmt.Sprintf("a manifest of %d bytes in an index", size), says, false, func(s *shelf) desc {
			return s.index(on("linux/amd64", with(s.image("linux/amd64"), set)))
		})
		add(fmt.Sprintf("a manifest of %d bytes for others in an index", size), "", false, func(s *shelf) desc {
			return s.index(on("linux/arm64", with(s.image("linux/arm64"), set)), on("linux/amd64", s.image("linux/amd64")))
		})
	}
	for _, off := range []int64{-1, 1, 1000} {
		wrong := func(d *desc) { d.Size += off }
		add(fmt.Sprintf("a manifest that an index lists %d bytes off", off), "and its entry says", false, func(s *shelf) desc {
			return s.index(on("linux/amd64", with(s.image("linux/amd64"), wrong)))
		})
		add(fmt.Sprintf("a configuration that is listed %d bytes off", off), "bytes", false, func(s *shelf) desc {
			return s.image("linux/amd64", configured(with(s.config(ociConfig, "linux/amd64", 1), wrong)))
		})
	}
	add("one layer with two sizes", "is listed with 7 bytes and with 8 bytes", false, func(s *shelf) desc {
		l := s.layer(ociGzip)
		return s.image("linux/amd64", layers(l, with(l, func(d *desc) { d.Size++ })), configured(s.config(ociConfig, "linux/amd64", 2)))
	})
	pad := func(n int) string { return strings.Repeat("x", n) }
	add("a configuration of 4 MiB and more", "configuration sha256:", true, func(s *shelf) desc {
		return s.image(
			"linux/amd64",
			configured(s.json(ociConfig, map[string]any{"os": "linux", "architecture": "amd64", "x": pad(4 << 20), "rootfs": map[string]any{"diff_ids": []digest.Digest{digest.FromString("0")}}})),
		)
	})
	add("a configuration of almost 4 MiB", "", false, func(s *shelf) desc {
		return s.image(
			"linux/amd64",
			configured(s.json(ociConfig, map[string]any{"os": "linux", "architecture": "amd64", "x": pad(4<<20 - 200), "rootfs": map[string]any{"diff_ids": []digest.Digest{digest.FromString("0")}}})),
		)
	})
	big := func(s *shelf, n int) desc {
		return s.json(
			ociManifest,
			map[string]any{"schemaVersion": 2, "mediaType": ociManifest, "config": s.config(ociConfig, "linux/amd64", 1), "layers": []desc{s.layer(ociGzip)}, "annotations": map[string]string{"x": pad(n)}},
		)
	}
	add("a manifest of 4 MiB and more", " bytes: the servers read at most 4194304", true, func(s *shelf) desc { return big(s, 4<<20) })
	add("a manifest of 4 MiB and more in an index", "manifest sha256:", true, func(s *shelf) desc { return s.index(on("linux/amd64", big(s, 4<<20))) })
	add("a manifest of almost 4 MiB", "", false, func(s *shelf) desc { return big(s, 4<<20-1000) })
	add("an index of 10,001 entries", "more than 10000 entries", true, func(s *shelf) desc {
		entries := make([]desc, 10_001)
		one := on("linux/s390x", s.image("linux/s390x"))
		for i := range entries {
			entries[i] = one
		}
		entries[0] = on("linux/amd64", s.image("linux/amd64"))
		return s.index(entries...)
	})
	add("embedded data that is right", "", false, func(s *shelf) desc {
		c := s.config(ociConfig, "linux/amd64", 1)
		return s.image("linux/amd64", configured(with(c, func(d *desc) { d.Data = s.blobs[d.Digest] })))
	})
	return all
}

// layerShapes: the layers of one image.
func layerShapes() []shape {
	var all []shape
	add := func(name, refused string, pulls bool, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, pulls: pulls, build: build})
	}
	for mediaType, refused := range map[string]string{
		ocispec.MediaTypeImageLayer: "", ociGzip: "", ocispec.MediaTypeImageLayerZstd: "",
		images.MediaTypeDockerSchema2Layer: "", dockerGzip: "", images.MediaTypeDockerSchema2LayerZstd: "",
		"application/vnd.oci.image.layer.nondistributable.v1.tar":      "",
		"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip": "",
		"application/vnd.oci.image.layer.nondistributable.v1.tar+zstd": "",
		images.MediaTypeDockerSchema2LayerForeign:                      "",
		images.MediaTypeDockerSchema2LayerForeignGzip:                  "",
		images.MediaTypeImageLayerEncrypted:                            "it is encrypted",
		images.MediaTypeImageLayerGzipEncrypted:                        "it is encrypted",
		"application/vnd.oci.image.layer.v1.tar+zstd+encrypted":        "it is encrypted",
		"application/vnd.oci.image.layer.v1.squashfs":                  "does not unpack this type",
		"application/vnd.example.layer":                                "has 0 layers, and its configuration names 1",
		"application/octet-stream":                                     "has 0 layers, and its configuration names 1",
		"":                                                             "has 0 layers, and its configuration names 1",
	} {
		pulls := strings.Contains(refused, "has 0 layers") // and nothing of it is unpacked
		add("a layer of type "+cmpOr(mediaType, "nothing"), refused, pulls, func(s *shelf) desc { return s.image("linux/amd64", layers(s.layer(mediaType))) })
		if images.IsNonDistributable(mediaType) {
			add("a layer elsewhere of type "+mediaType, "lies outside of the registry, at https://layers.example/1", false, func(s *shelf) desc {
				return s.image("linux/amd64", layers(with(s.layer(mediaType), func(d *desc) { d.URLs = []string{"https://layers.example/1?signature=x"} })))
			})
			add("a layer that is missing of type "+mediaType, "404", false, func(s *shelf) desc {
				l := s.layer(mediaType)
				delete(s.blobs, l.Digest)
				return s.image("linux/amd64", layers(l))
			})
		}
	}
	add("a common layer elsewhere", "lies outside of the registry", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(with(s.layer(ociGzip), func(d *desc) { d.URLs = []string{"https://layers.example/1"} })))
	})
	add("a layer whose URLs are nobody's", "", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(with(s.layer(ociGzip), func(d *desc) { d.URLs = []string{"ipfs://layers", "%"} })))
	})
	add("an encrypted layer for others", "", false, func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), s.image("linux/arm64", layers(s.layer(images.MediaTypeImageLayerEncrypted))))
	})
	add("eStargz", "", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(with(s.layer(ociGzip), func(d *desc) {
			d.Annotations = map[string]string{"containerd.io/snapshot/stargz/toc.digest": "sha256:" + strings.Repeat("0", 64)}
		})))
	})
	add("one layer twice", "", false, func(s *shelf) desc {
		l := s.layer(ociGzip)
		return s.image("linux/amd64", layers(l, l), configured(s.config(ociConfig, "linux/amd64", 2)))
	})
	add("no layers", "", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(), configured(s.config(ociConfig, "linux/amd64", 0)))
	})
	add("a list of layers that is empty", "", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers([]desc{}...), configured(s.config(ociConfig, "linux/amd64", 0)))
	})
	add("more layers than the configuration names", "has 2 layers, and its configuration names 1", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(s.layer(ociGzip), s.layer(ociGzip)))
	})
	add("fewer layers than the configuration names", "has 1 layers, and its configuration names 3", false, func(s *shelf) desc {
		return s.image("linux/amd64", configured(s.config(ociConfig, "linux/amd64", 3)))
	})
	add("127 layers", "", false, func(s *shelf) desc {
		var ls []desc
		for range 127 {
			ls = append(ls, s.layer(ociGzip))
		}
		return s.image("linux/amd64", layers(ls...), configured(s.config(ociConfig, "linux/amd64", 127)))
	})
	return all
}

// artifactShapes: what is in registries and is no image.
func artifactShapes() []shape {
	var all []shape
	add := func(name, refused string, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, pulls: true, build: build})
	}
	typed := func(s *shelf, config, artifact string, l ...desc) desc {
		return s.image("", configured(s.bytes(config, []byte("{}"))), func(m *manifestOf) { m.ArtifactType = artifact; m.Layers = l })
	}
	add("a Helm chart", "it is no image but a Helm chart: name it under addons (application/vnd.cncf.helm.config.v1+json)", func(s *shelf) desc {
		return typed(s, "application/vnd.cncf.helm.config.v1+json", "", s.layer("application/vnd.cncf.helm.chart.content.v1.tar+gzip"))
	})
	add("a WebAssembly module", "a WebAssembly module", func(s *shelf) desc {
		return typed(s, "application/vnd.wasm.config.v0+json", "", s.layer("application/wasm"))
	})
	add("an artifact of OCI 1.1", `an artifact of type "application/vnd.oci.empty.v1+json"`, func(s *shelf) desc {
		return typed(s, "application/vnd.oci.empty.v1+json", "application/x.model", s.layer("application/x.weights"))
	})
	add("a signature", "a signature", func(s *shelf) desc {
		return typed(s, "application/vnd.dev.cosign.simplesigning.v1+json", "", s.layer("application/x"))
	})
	add("a Docker plugin", "a Docker plugin", func(s *shelf) desc {
		return typed(s, "application/vnd.docker.plugin.v1+json", "", s.layer(dockerGzip))
	})
	add("a configuration of no type at all", "an artifact of type", func(s *shelf) desc {
		return typed(s, "", "", s.layer(ociGzip))
	})
	add("octet-stream as the configuration's type", "an artifact of type", func(s *shelf) desc {
		return typed(s, "application/octet-stream", "", s.layer(ociGzip))
	})
	all = append(all, shape{name: "a chart in an index", refused: "it is no image but a Helm chart", build: func(s *shelf) desc {
		return s.index(typed(s, "application/vnd.cncf.helm.config.v1+json", "", s.layer("application/x")))
	}})
	add("an artifact beside the image", "", func(s *shelf) desc {
		return s.index(on("linux/amd64", s.image("linux/amd64")), typed(s, "application/vnd.oci.empty.v1+json", "application/x.sbom", s.layer("application/spdx+json")))
	})
	all = append(all, shape{name: "ORAS's own manifest", refused: "it is no image but an artifact of type \"application/vnd.oci.artifact.manifest.v1+json\"", build: func(s *shelf) desc {
		return s.json(
			"application/vnd.oci.artifact.manifest.v1+json",
			map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.artifact.manifest.v1+json", "artifactType": "application/x", "blobs": []desc{}},
		)
	}})
	return all
}

// brokenShapes: what neither of the two reads.
func brokenShapes() []shape {
	var all []shape
	add := func(name, refused string, pulls bool, build func(*shelf) desc) {
		all = append(all, shape{name: name, refused: refused, pulls: pulls, build: build})
	}
	raw := func(mediaType, text string) func(*shelf) desc {
		return func(s *shelf) desc { return s.bytes(mediaType, []byte(text)) }
	}
	schema1 := `{"schemaVersion":1,"name":"x","tag":"1","architecture":"amd64","fsLayers":[{"blobSum":"sha256:` + strings.Repeat("a", 64) + `"}],"history":[],"signatures":[]}`
	for _, t := range []string{images.MediaTypeDockerSchema1Manifest, "application/vnd.docker.distribution.manifest.v1+json", "application/json", dockerManifest} {
		add("Docker schema 1 as "+t, "Docker schema 1", false, raw(t, schema1))
	}
	add("schema 1 in an index", "Docker schema 1", false, func(s *shelf) desc {
		return s.index(on("linux/amd64", s.bytes(dockerManifest, []byte(schema1))))
	})
	add("no JSON", "it is no manifest", false, raw(ociManifest, "manifest"))
	add("JSON that is cut", "it is no manifest", false, raw(ociManifest, `{"schemaVersion":2,"config"`))
	add("JSON with something behind", "it is no manifest", false, raw(ociManifest, `{"schemaVersion":2} {}`))
	add("a list", "it is no manifest", false, raw(ociManifest, `[]`))
	add("nothing in it", "schemaVersion 0", false, raw(ociManifest, `{}`))
	add("null", "schemaVersion 0", false, raw(ociManifest, `null`))
	add("no schemaVersion", "its manifest has schemaVersion 0: registries serve 2 only", true, func(s *shelf) desc {
		l := s.layer(ociGzip)
		return s.json(ociManifest, map[string]any{"config": s.config(ociConfig, "linux/amd64", 1), "layers": []desc{l}})
	})
	add("both a manifest and an index", "neither", false, func(s *shelf) desc {
		return s.json(ociManifest, map[string]any{"schemaVersion": 2, "mediaType": ociManifest, "config": s.config(ociConfig, "linux/amd64", 1), "layers": []desc{}, "manifests": []desc{}})
	})
	add("an index with a configuration", "neither", false, func(s *shelf) desc {
		return s.json(ociIndex, map[string]any{"schemaVersion": 2, "mediaType": ociIndex, "config": nil, "manifests": []desc{on("linux/amd64", s.image("linux/amd64"))}})
	})
	add("no configuration", "only sha256 is supported", false, raw(ociManifest, `{"schemaVersion":2,"mediaType":"`+ociManifest+`","layers":[]}`))
	add("a digest of sha512", "only sha256 is supported", true, func(s *shelf) desc {
		l := s.layer(ociGzip)
		d := digest.SHA512.FromBytes(s.blobs[l.Digest])
		s.blobs[d] = s.blobs[l.Digest]
		return s.image("linux/amd64", layers(with(l, func(l *desc) { l.Digest = d })))
	})
	add("a digest that is a path", "only sha256 is supported", false, func(s *shelf) desc {
		return s.image("linux/amd64", layers(with(s.layer(ociGzip), func(l *desc) { l.Digest = "sha256:../../etc/passwd" })))
	})
	add("a configuration that is no JSON", "read its configuration", false, func(s *shelf) desc {
		return s.image("linux/amd64", configured(s.bytes(ociConfig, []byte("<none>"))))
	})
	add("a configuration that is missing", "404", false, func(s *shelf) desc {
		d := s.image("linux/amd64")
		var m struct{ Config desc }
		_ = json.Unmarshal(s.blobs[d.Digest], &m)
		delete(s.blobs, m.Config.Digest)
		return d
	})
	add("a manifest that is missing in an index", "does not exist in", false, func(s *shelf) desc {
		d := s.image("linux/amd64")
		delete(s.blobs, d.Digest)
		return s.index(on("linux/amd64", d))
	})
	add("embedded data that is wrong", "is embedded in its manifest with other bytes", true, func(s *shelf) desc {
		c := s.config(ociConfig, "linux/amd64", 1)
		return s.image("linux/amd64", configured(with(c, func(d *desc) { d.Data = bytes.Repeat([]byte("x"), int(d.Size)) })))
	})
	return all
}
