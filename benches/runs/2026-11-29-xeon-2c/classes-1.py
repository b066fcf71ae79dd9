"""Matrices of classes that had not been compared before: classes-1.py [NAME...] writes NAME.npz; needs NumPy and SciPy."""
import numpy as np, scipy.sparse as sp, sys
from scipy.spatial import cKDTree, Delaunay
rng=np.random.default_rng(7)
def save(name,A):
    A=sp.csc_matrix(A); A=(A+A.T)*0.5; A.sum_duplicates(); A.sort_indices()
    print(name,A.shape[0],A.nnz,flush=True)
    sp.save_npz(f'{name}.npz',A.tocsc(),compressed=False)
def lap(i,j,n,shift=1e-2):
    W=sp.coo_matrix((np.ones(len(i)),(i,j)),shape=(n,n)).tocsr(); W=W+W.T; W.data[:]=rng.uniform(0.5,1.5,len(W.data)); W=(W+W.T)/2
    d=np.asarray(W.sum(1)).ravel()
    return sp.diags(d+shift)-W
def dom(P):  # pattern -> diagonally dominant
    P=sp.csr_matrix(P); P=(P+P.T).tocsr(); P.data=rng.uniform(-1,1,len(P.data)); P=(P+P.T)/2
    P.setdiag(0); P.eliminate_zeros()
    d=np.asarray(abs(P).sum(1)).ravel()
    return P+sp.diags(d+1)
def blocks(n,b): return sp.kron(sp.identity(n),np.ones((b,b)))
def chain(n): return sp.diags([np.ones(n),np.ones(n-1),np.ones(n-1)],[0,1,-1])
def grid(*d):
    n=int(np.prod(d)); I=np.arange(n).reshape(d); ii=[];jj=[]
    for a in range(len(d)):
        s0=[slice(None)]*len(d); s1=s0.copy(); s0[a]=slice(0,-1); s1[a]=slice(1,None)
        ii.append(I[tuple(s0)].ravel()); jj.append(I[tuple(s1)].ravel())
    return np.concatenate(ii),np.concatenate(jj),n
def hp(nx,dim,p):
    m=nx*p+1; I=np.arange(m**dim).reshape((m,)*dim); rows=[];cols=[]
    import itertools
    for e in itertools.product(range(nx),repeat=dim):
        v=I[tuple(slice(k*p,k*p+p+1) for k in e)].ravel()
        rows.append(np.repeat(v,len(v))); cols.append(np.tile(v,len(v)))
    r=np.concatenate(rows);c=np.concatenate(cols)
    return sp.coo_matrix((np.ones(len(r)),(r,c)),shape=(m**dim,)*2).tocsr()
G={}
G['mpc20000x12']=lambda: dom(sp.kron(chain(20000),np.ones((12,12))))
G['chain400x200']=lambda: dom(sp.kron(chain(400),np.ones((200,200))))
G['diag3000x60']=lambda: dom(blocks(3000,60))
def arrow(n,b):
    B=sp.csr_matrix(np.ones((b,n))); D=sp.identity(n); C=np.ones((b,b)); return sp.bmat([[D,B.T],[B,C]])
G['arrow200000x60']=lambda: dom(arrow(200000,60))
G['band100000x100']=lambda: dom(sp.diags([np.ones(100000-k) for k in range(101)],list(range(101))))
G['beam8x8x4000']=lambda: lap(*grid(8,8,4000))
def wend(n,k,dim):
    X=rng.random((n,dim)); t=cKDTree(X); r=(k/n/np.pi)**0.5 if dim==2 else (3*k/n/4/np.pi)**(1/3)
    p=t.query_pairs(r,output_type='ndarray'); return p[:,0],p[:,1],n
G['wendland60000']=lambda: lap(*wend(60000,100,2))
G['wendland3d_20000']=lambda: lap(*wend(20000,60,3))
G['hp3d_6x6']=lambda: dom(hp(6,3,6))
G['hp2d_40x10']=lambda: dom(hp(40,2,10))
def ba(n,m):
    t=list(range(m)); rep=[]; i=[];j=[]
    for s in range(m,n):
        for q in set(t): i.append(s); j.append(q); rep.append(q); rep.append(s)
        t=[rep[k] for k in rng.integers(0,len(rep),m)]
    return np.array(i),np.array(j),n
G['scalefree20000']=lambda: lap(*ba(20000,2))
def road(n):
    X=rng.random((n,2)); T=Delaunay(X).simplices; e=np.concatenate([T[:,[0,1]],T[:,[1,2]],T[:,[2,0]]]); e.sort(1); e=np.unique(e,axis=0)
    L=((X[e[:,0]]-X[e[:,1]])**2).sum(1); keep=rng.random(len(e))<0.45
    e=e[keep]; return e[:,0],e[:,1],n
G['road500000']=lambda: lap(*road(500000))
G['grid4d_14']=lambda: lap(*grid(14,14,14,14))
def stoch(S,b,f,dens):
    # S scenarios of b variables (2D-like grid block) all coupled to f first stage variables
    g=int(b**0.5); i,j,n=grid(g,g); L=sp.coo_matrix((np.ones(len(i)),(i,j)),shape=(n,n)); K=sp.kron(sp.identity(S),L)
    C=sp.random(f,S*n,density=dens,random_state=3,format='csr'); C.data[:]=1
    return sp.bmat([[K,C.T],[C,sp.csr_matrix(np.ones((f,f)))]])
G['stoch500x196_300']=lambda: dom(stoch(500,196,300,0.005))
G['stoch200x900_200']=lambda: dom(stoch(200,900,200,0.002))
def ratings(u,it,k):
    pop=1/np.arange(1,it+1)**0.7; pop/=pop.sum()
    i=np.repeat(np.arange(u),k); j=u+rng.choice(it,size=u*k,p=pop); n=u+it
    return sp.coo_matrix((np.ones(u*k),(i,j)),shape=(n,n))
G['ratings100000x1500']=lambda: dom(ratings(100000,1500,12))
def mcf(K,V,E,link):
    i=rng.integers(0,V,E); j=(i+rng.integers(1,V,E))%V
    A=sp.coo_matrix((np.ones(2*E),(np.concatenate([i,j]),np.concatenate([np.arange(E)]*2))),shape=(V,E)).tocsr()
    Lk=sp.coo_matrix((np.ones(link),(np.arange(link),rng.choice(E,link,replace=False))),shape=(link,E))
    big=sp.vstack([sp.kron(sp.identity(K),A),sp.hstack([Lk]*K)]).tocsr()
    M=big@big.T; return M
G['mcf200x100x400_200']=lambda: dom(mcf(200,100,400,200))
def couple(nx,h,m):
    i,j,n=grid(nx,nx); P=sp.coo_matrix((np.ones(len(i)),(i,j)),shape=(n,n)); P=sp.kron(P+P.T+sp.identity(n),np.ones((3,3)))
    B=sp.lil_matrix((h,3*n)); 
    for q in range(h): B[q,rng.choice(3*n,m,replace=False)]=1
    return sp.bmat([[P,B.T.tocsr()],[B.tocsr(),sp.identity(h)]])
G['coupled250x3_20']=lambda: dom(couple(250,20,3000))
G['tree1000000']=lambda: lap(np.arange(1,1000000),(rng.random(999999)*np.arange(1,1000000)).astype(int),1000000)
for k in (sys.argv[1:] or G): save(k,G[k]())
