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
    "cremer2018": """@inproceedings{cremer2018,
  title = {On the Importance of Learning Aggregate Posteriors in Multimodal Variational
           Autoencoders},
  author = {Cremer, Chris and Kushman, Nate},
  booktitle = {Symposium on Advances in Approximate Bayesian Inference},
  year = {2018}
}""",
    "berger2020": """@inproceedings{berger2020,
  title = {From Abstract Items to Latent Spaces to Observed Data and Back: Compositional
           Variational Auto-Encoder},
  author = {Berger, Victor and Sebag, Mich{\\`e}le},
  booktitle = {Machine Learning and Knowledge Discovery in Databases},
  year = {2020},
  url = {https://arxiv.org/abs/2001.07910}
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
    "kipf2016": """@misc{kipf2016,
  title = {Variational Graph Auto-Encoders},
  author = {Kipf, Thomas N. and Welling, Max},
  year = {2016},
  eprint = {1611.07308},
  archiveprefix = {arXiv}
}""",
    "sen2008": """@article{sen2008,
  title = {Collective Classification in Network Data},
  author = {Sen, Prithviraj and Namata, Galileo and Bilgic, Mustafa and Getoor, Lise and
            Gallagher, Brian and Eliassi-Rad, Tina},
  journal = {AI Magazine},
  volume = {29},
  number = {3},
  year = {2008}
}""",
    "zachary1977": """@article{zachary1977,
  title = {An Information Flow Model for Conflict and Fission in Small Groups},
  author = {Zachary, Wayne W.},
  journal = {Journal of Anthropological Research},
  volume = {33},
  number = {4},
  year = {1977}
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
    "burda2016": """@inproceedings{burda2016,
  title = {Importance Weighted Autoencoders},
  author = {Burda, Yuri and Grosse, Roger and Salakhutdinov, Ruslan},
  booktitle = {International Conference on Learning Representations},
  year = {2016},
  url = {https://arxiv.org/abs/1509.00519}
}""",
    "roeder2017": """@inproceedings{roeder2017,
  title = {Sticking the Landing: Simple, Lower-Variance Gradient Estimators for
           Variational Inference},
  author = {Roeder, Geoffrey and Wu, Yuhuai and Duvenaud, David},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2017},
  url = {https://arxiv.org/abs/1703.09194}
}""",
    "tucker2019": """@inproceedings{tucker2019,
  title = {Doubly Reparameterized Gradient Estimators for {Monte Carlo} Objectives},
  author = {Tucker, George and Lawson, Dieterich and Gu, Shixiang and Maddison, Chris J.},
  booktitle = {International Conference on Learning Representations},
  year = {2019},
  url = {https://arxiv.org/abs/1810.04152}
}""",
    "burgess2018": """@misc{burgess2018,
  title = {Understanding disentangling in $\\beta$-{VAE}},
  author = {Burgess, Christopher P. and Higgins, Irina and Pal, Arka and Matthey, Loic and
            Watters, Nick and Desjardins, Guillaume and Lerchner, Alexander},
  year = {2018},
  eprint = {1804.03599},
  archiveprefix = {arXiv}
}""",
    "chen2018": """@inproceedings{chen2018,
  title = {Isolating Sources of Disentanglement in Variational Autoencoders},
  author = {Chen, Ricky T. Q. and Li, Xuechen and Grosse, Roger and Duvenaud, David},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2018},
  url = {https://arxiv.org/abs/1802.04942}
}""",
    "esmaeili2018": """@inproceedings{esmaeili2018,
  title = {Structured Disentangled Representations},
  author = {Esmaeili, Babak and Wu, Hao and Jain, Sarthak and Bozkurt, Alican and
            Siddharth, N. and Paige, Brooks and Brooks, Dana H. and Dy, Jennifer and
            van de Meent, Jan-Willem},
  booktitle = {Artificial Intelligence and Statistics},
  year = {2019},
  url = {https://arxiv.org/abs/1804.02086}
}""",
    "kim2018": """@inproceedings{kim2018,
  title = {Disentangling by Factorising},
  author = {Kim, Hyunjik and Mnih, Andriy},
  booktitle = {International Conference on Machine Learning},
  year = {2018},
  url = {https://arxiv.org/abs/1802.05983}
}""",
    "narayanaswamy2017": """@inproceedings{narayanaswamy2017,
  title = {Learning Disentangled Representations with Semi-Supervised Deep Generative
           Models},
  author = {Narayanaswamy, Siddharth and Paige, Brooks and van de Meent, Jan-Willem and
            Desmaison, Alban and Goodman, Noah and Kohli, Pushmeet and Wood, Frank and
            Torr, Philip},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2017},
  url = {https://arxiv.org/abs/1706.00400}
}""",
    "kingma2014semi": """@inproceedings{kingma2014semi,
  title = {Semi-Supervised Learning with Deep Generative Models},
  author = {Kingma, Diederik P. and Rezende, Danilo J. and Mohamed, Shakir and Welling, Max},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2014},
  url = {https://arxiv.org/abs/1406.5298}
}""",
    "sonderby2016": """@inproceedings{sonderby2016,
  title = {Ladder Variational Autoencoders},
  author = {S{\\o}nderby, Casper Kaae and Raiko, Tapani and Maal{\\o}e, Lars and
            S{\\o}nderby, S{\\o}ren Kaae and Winther, Ole},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2016},
  url = {https://arxiv.org/abs/1602.02282}
}""",
    "kingma2016": """@inproceedings{kingma2016,
  title = {Improved Variational Inference with Inverse Autoregressive Flow},
  author = {Kingma, Diederik P. and Salimans, Tim and Jozefowicz, Rafal and Chen, Xi and
            Sutskever, Ilya and Welling, Max},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2016},
  url = {https://arxiv.org/abs/1606.04934}
}""",
    "lake2015": """@article{lake2015,
  title = {Human-level concept learning through probabilistic program induction},
  author = {Lake, Brenden M. and Salakhutdinov, Ruslan and Tenenbaum, Joshua B.},
  journal = {Science},
  volume = {350},
  number = {6266},
  pages = {1332--1338},
  year = {2015}
}""",
    "uria2013": """@inproceedings{uria2013,
  title = {{RNADE}: The Real-Valued Neural Autoregressive Density-Estimator},
  author = {Uria, Benigno and Murray, Iain and Larochelle, Hugo},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2013},
  url = {https://arxiv.org/abs/1306.0186}
}""",
    "martin2001": """@inproceedings{martin2001,
  title = {A Database of Human Segmented Natural Images and its Application},
  author = {Martin, David and Fowlkes, Charless and Tal, Doron and Malik, Jitendra},
  booktitle = {International Conference on Computer Vision},
  year = {2001}
}""",
    "matthey2017": """@misc{matthey2017,
  title = {{dSprites}: Disentanglement testing Sprites dataset},
  author = {Matthey, Loic and Higgins, Irina and Hassabis, Demis and Lerchner, Alexander},
  year = {2017},
  url = {https://github.com/deepmind/dsprites-dataset}
}""",
    "johnson2017": """@inproceedings{johnson2017,
  title = {{CLEVR}: A Diagnostic Dataset for Compositional Language and Elementary Visual
           Reasoning},
  author = {Johnson, Justin and Hariharan, Bharath and van der Maaten, Laurens and
            Fei-Fei, Li and Zitnick, C. Lawrence and Girshick, Ross},
  booktitle = {Computer Vision and Pattern Recognition},
  year = {2017},
  url = {https://arxiv.org/abs/1612.06890}
}""",
    "elnouby2019": """@inproceedings{elnouby2019,
  title = {Tell, Draw, and Repeat: Generating and Modifying Images Based on Continual
           Linguistic Instruction},
  author = {El-Nouby, Alaaeldin and Sharma, Shikhar and Schulz, Hannes and Hjelm, Devon and
            El Asri, Layla and Ebrahimi Kahou, Samira and Bengio, Yoshua and
            Taylor, Graham W.},
  booktitle = {International Conference on Computer Vision},
  year = {2019},
  url = {https://arxiv.org/abs/1811.09845}
}""",
    "liu2015": """@inproceedings{liu2015,
  title = {Deep Learning Face Attributes in the Wild},
  author = {Liu, Ziwei and Luo, Ping and Wang, Xiaogang and Tang, Xiaoou},
  booktitle = {International Conference on Computer Vision},
  year = {2015},
  url = {https://arxiv.org/abs/1411.7766}
}""",
    "lin2014": """@inproceedings{lin2014,
  title = {Microsoft {COCO}: Common Objects in Context},
  author = {Lin, Tsung-Yi and Maire, Michael and Belongie, Serge and Hays, James and
            Perona, Pietro and Ramanan, Deva and Doll{\\'a}r, Piotr and Zitnick, C. Lawrence},
  booktitle = {European Conference on Computer Vision},
  year = {2014},
  url = {https://arxiv.org/abs/1405.0312}
}""",
    "chen2015": """@misc{chen2015,
  title = {Microsoft {COCO} Captions: Data Collection and Evaluation Server},
  author = {Chen, Xinlei and Fang, Hao and Lin, Tsung-Yi and Vedantam, Ramakrishna and
            Gupta, Saurabh and Doll{\\'a}r, Piotr and Zitnick, C. Lawrence},
  year = {2015},
  url = {https://arxiv.org/abs/1504.00325}
}""",
    "mansimov2016": """@inproceedings{mansimov2016,
  title = {Generating Images from Captions with Attention},
  author = {Mansimov, Elman and Parisotto, Emilio and Ba, Jimmy Lei and Salakhutdinov, Ruslan},
  booktitle = {International Conference on Learning Representations},
  year = {2016},
  url = {https://arxiv.org/abs/1511.02793}
}""",
    "gregor2015": """@inproceedings{gregor2015,
  title = {{DRAW}: A Recurrent Neural Network for Image Generation},
  author = {Gregor, Karol and Danihelka, Ivo and Graves, Alex and Rezende, Danilo Jimenez and
            Wierstra, Daan},
  booktitle = {International Conference on Machine Learning},
  year = {2015},
  url = {https://arxiv.org/abs/1502.04623}
}""",
    "denton2015": """@inproceedings{denton2015,
  title = {Deep Generative Image Models using a {Laplacian} Pyramid of Adversarial Networks},
  author = {Denton, Emily and Chintala, Soumith and Szlam, Arthur and Fergus, Rob},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2015},
  url = {https://arxiv.org/abs/1506.05751}
}""",
    "larochelle2011": """@inproceedings{larochelle2011,
  title = {The Neural Autoregressive Distribution Estimator},
  author = {Larochelle, Hugo and Murray, Iain},
  booktitle = {Artificial Intelligence and Statistics},
  year = {2011}
}""",
}


def citations(recipe: Recipe) -> list[str]:
    """BibTeX entries of the objective, the networks, the data and the optimiser of a recipe."""
    keys = ["mindseye", *(key for stage in recipe.stages for key in stage.cite)]
    keys += ["radford2016"] if recipe.model.networks == "paper" else []
    keys += [*_DATA[recipe.data.name], "kingma2015"]
    return [BIBTEX[key] for key in dict.fromkeys(keys)]


_DATA = {
    "mnist-a": ["vedantam2018", "lecun1998"],
    "mnist-2bit": ["vedantam2018", "lecun1998"],
    "mnist": ["lecun1998"],
    "mnist-static": ["larochelle2011", "lecun1998"],
    "omniglot": ["lake2015"],
    "bsds": ["martin2001", "uria2013"],
    "dsprites": ["matthey2017"],
    "two-objects": ["cremer2018", "johnson2017"],
    "one-object": ["cremer2018", "johnson2017"],
    "celeba": ["liu2015"],
    "celeba-words": ["liu2015", "cremer2018"],
    "captioned-mnist": ["mansimov2016", "lecun1998"],
    "captioned-pairs": ["mansimov2016", "lecun1998"],
    "coco": ["lin2014", "chen2015"],
    "clevr": ["johnson2017"],
    "iclevr": ["elnouby2019", "johnson2017"],
    "sines": ["berger2020"],
    "sites": ["berger2020"],
    "loads": ["berger2020"],
    "cora": ["sen2008"],
    "citeseer": ["sen2008"],
    "graph": ["zachary1977"],
}
"""What every data set comes from."""
