"""BibTeX of what a run stands on."""

from __future__ import annotations

from mindseye.papers.recipe import Recipe

__all__ = ["BIBTEX", "citations"]

BIBTEX = {
    "mindseye": """@software{mindseye,
  title = {mindseye: descriptions to pictures, pictures to descriptions},
  author = {{The mindseye authors}},
  year = {2026},
  license = {Apache-2.0}
}""",
    "vedantam2018": """@inproceedings{vedantam2018,
  title = {Generative Models of Visually Grounded Imagination},
  author = {Vedantam, Ramakrishna and Fischer, Ian and Huang, Jonathan and Murphy, Kevin},
  booktitle = {International Conference on Learning Representations},
  year = {2018},
  url = {https://arxiv.org/abs/1705.10762}
}""",
    "suzuki2017": """@inproceedings{suzuki2017,
  title = {Joint Multimodal Learning with Deep Generative Models},
  author = {Suzuki, Masahiro and Nakayama, Kotaro and Matsuo, Yutaka},
  booktitle = {ICLR Workshop},
  year = {2017},
  url = {https://arxiv.org/abs/1611.01891}
}""",
    "wang2016": """@misc{wang2016,
  title = {Deep Variational Canonical Correlation Analysis},
  author = {Wang, Weiran and Yan, Xinchen and Lee, Honglak and Livescu, Karen},
  year = {2016},
  eprint = {1610.03454},
  archiveprefix = {arXiv}
}""",
    "kingma2014": """@inproceedings{kingma2014,
  title = {Auto-Encoding Variational {Bayes}},
  author = {Kingma, Diederik P. and Welling, Max},
  booktitle = {International Conference on Learning Representations},
  year = {2014},
  url = {https://arxiv.org/abs/1312.6114}
}""",
    "higgins2017": """@inproceedings{higgins2017,
  title = {beta-{VAE}: Learning Basic Visual Concepts with a Constrained Variational Framework},
  author = {Higgins, Irina and Matthey, Loic and Pal, Arka and Burgess, Christopher and
            Glorot, Xavier and Botvinick, Matthew and Mohamed, Shakir and Lerchner, Alexander},
  booktitle = {International Conference on Learning Representations},
  year = {2017}
}""",
    "higgins2017scan": """@inproceedings{higgins2017scan,
  title = {{SCAN}: Learning Hierarchical Compositional Visual Concepts},
  author = {Higgins, Irina and Sonnerat, Nicolas and Matthey, Loic and Pal, Arka and
            Burgess, Christopher P. and Bo{\\v{s}}njak, Matko and Shanahan, Murray and
            Botvinick, Matthew and Hassabis, Demis and Lerchner, Alexander},
  booktitle = {International Conference on Learning Representations},
  year = {2018},
  url = {https://arxiv.org/abs/1707.03389}
}""",
    "radford2016": """@inproceedings{radford2016,
  title = {Unsupervised Representation Learning with Deep Convolutional Generative Adversarial
           Networks},
  author = {Radford, Alec and Metz, Luke and Chintala, Soumith},
  booktitle = {International Conference on Learning Representations},
  year = {2016},
  url = {https://arxiv.org/abs/1511.06434}
}""",
    "kingma2015": """@inproceedings{kingma2015,
  title = {Adam: A Method for Stochastic Optimization},
  author = {Kingma, Diederik P. and Ba, Jimmy},
  booktitle = {International Conference on Learning Representations},
  year = {2015},
  url = {https://arxiv.org/abs/1412.6980}
}""",
    "lecun1998": """@article{lecun1998,
  title = {Gradient-Based Learning Applied to Document Recognition},
  author = {LeCun, Yann and Bottou, Leon and Bengio, Yoshua and Haffner, Patrick},
  journal = {Proceedings of the IEEE},
  volume = {86},
  number = {11},
  pages = {2278--2324},
  year = {1998}
}""",
}


def citations(recipe: Recipe) -> list[str]:
    """BibTeX entries of the objective, the networks, the data and the optimiser of a recipe."""
    keys = ["mindseye", *(key for stage in recipe.stages for key in stage.cite)]
    keys += ["radford2016"] if recipe.model.networks == "paper" else []
    keys += ["vedantam2018", "lecun1998", "kingma2015"]  # both data sets are of that paper
    return [BIBTEX[key] for key in dict.fromkeys(keys)]
