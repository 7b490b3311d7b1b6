package bundle

// Summary is what the lock describes, in numbers. Of a delta it counts what
// lies in its base too.
type Summary struct {
	Size                    int64 // of all parts, bytes
	Images, Packages, Files Amount
	Base                    Amount // files that a delta leaves out
	Addons                  Amount // objects and charts, those of the pod network too
}

// Amount counts things, and the bytes they take: what several images share
// counts once.
type Amount struct {
	Count int
	Bytes int64
}

// Summary adds up what the index lists.
func (x *Index) Summary() Summary {
	s := Summary{
		Images:   Amount{Count: len(x.Lock.Images)},
		Packages: Amount{Count: len(x.Lock.Packages)},
		Files:    Amount{Count: len(x.Lock.Files)},
		Base:     Amount{Count: len(x.Base.files()), Bytes: x.Base.bytes()},
		Addons:   Amount{Count: len(x.Lock.applied())},
	}
	for _, p := range x.Parts {
		s.Size += p.Size
	}
	for _, f := range x.held() {
		switch kindOf(f.Path) {
		case "images":
			s.Images.Bytes += f.Size
		case "packages":
			s.Packages.Bytes += f.Size
		case "files":
			s.Files.Bytes += f.Size
		case chartsDir, manifestsDir, networkDir:
			s.Addons.Bytes += f.Size
		}
	}
	return s
}
